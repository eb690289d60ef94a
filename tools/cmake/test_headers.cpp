// Carries the precompiled headers that test programs share.
