// Carries precompiled headers that other targets share.
