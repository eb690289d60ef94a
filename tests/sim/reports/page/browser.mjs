// A headless Chromium, driven over a pipe with the DevTools protocol: no package is needed.
import {spawn} from "node:child_process";
import {mkdtempSync, rmSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";

const kFlags = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
  "--hide-scrollbars", "--disable-dev-shm-usage", "--force-color-profile=srgb", "--remote-debugging-pipe",
  // Processes and services that a page from a file does without.
  "--no-zygote", "--in-process-gpu", "--disable-software-rasterizer", "--disable-breakpad", "--disable-crash-reporter",
  "--disable-component-extensions-with-background-pages", "--disable-default-apps", "--mute-audio", "--no-pings",
  "--disable-features=site-per-process,Translate,OptimizationHints,MediaRouter",
];

/** One browser with a fresh profile; `close` ends it and removes the profile. */
export class Browser {
  #next = 1;
  #waiting = new Map();
  #listeners = [];
  #rest = "";
  #session;

  constructor(program) {
    this.profile = mkdtempSync(join(tmpdir(), "orrery-page-"));
    this.process = spawn(program, [...kFlags, `--user-data-dir=${this.profile}`, "about:blank"],
      {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
    this.process.stdio[4].on("data", (bytes) => this.#read(bytes.toString("utf8")));
    this.process.on("exit", () => {
      for (const {reject} of this.#waiting.values()) reject(new Error("the browser has ended"));
    });
  }

  #read(text) {
    const parts = (this.#rest + text).split("\0");
    this.#rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id === undefined) {
        for (const listener of this.#listeners) listener(message);
        continue;
      }
      const {resolve, reject, method} = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) reject(new Error(`${method}: ${message.error.message}`));
      else resolve(message.result);
    }
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {resolve, reject, method});
      this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + "\0");
    });
  }

  onEvent(listener) {
    this.#listeners.push(listener);
  }

  /** A page in the one window: what it showed before is gone. A window each would be a process each. */
  async open(url, {width = 1200, height = 900} = {}) {
    if (this.#session === undefined) {
      const {targetId} = await this.send("Target.createTarget", {url: "about:blank"});
      this.#session = (await this.send("Target.attachToTarget", {targetId, flatten: true})).sessionId;
    }
    this.#listeners = [];
    const page = new Page(this, this.#session);
    await page.start(url, width, height);
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

/** One page; `requests` and `complaints` collect what it asked for and what went wrong in it. */
export class Page {
  requests = [];
  complaints = [];

  constructor(browser, session) {
    this.browser = browser;
    this.session = session;
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async start(url, width, height) {
    this.browser.onEvent(({method, params, sessionId}) => {
      if (sessionId !== this.session) return;
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
      if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Runtime.consoleAPICalled" && params.type !== "log") this.complaints.push(`console.${params.type}`);
      if (method === "Log.entryAdded") this.complaints.push(params.entry.text);
    });
    await this.send("Page.enable");
    await this.send("Runtime.enable");
    await this.send("Log.enable");
    await this.send("Network.enable");
    await this.send("Emulation.setEmulatedMedia", {media: "", features: []});
    await this.resize(width, height);
    const loaded = this.once("Page.loadEventFired");
    await this.send("Page.navigate", {url});
    await loaded;
    await this.settled();
  }

  once(wanted) {
    return new Promise((resolve) => this.browser.onEvent(({method, params, sessionId}) => {
      if (method === wanted && sessionId === this.session) resolve(params);
    }));
  }

  async resize(width, height) {
    await this.send("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
  }

  /** The value of an expression, awaited. */
  async value(expression) {
    const {result, exceptionDetails} = await this.send("Runtime.evaluate", {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Two frames later all that was asked to be drawn has been drawn. */
  settled() {
    return this.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
  }

  async mouse(type, x, y, more = {}) {
    await this.send("Input.dispatchMouseEvent", {type, x, y, button: type === "mouseMoved" ? "none" : "left", clickCount: 1, ...more});
    await this.settled();
  }

  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y);
    await this.mouse("mouseReleased", x, y);
  }

  async key(key, text = key.length === 1 ? key : undefined) {
    await this.send("Input.dispatchKeyEvent", {type: "keyDown", key, text});
    await this.send("Input.dispatchKeyEvent", {type: "keyUp", key});
    await this.settled();
  }

  async media({media = "", scheme = ""} = {}) {
    await this.send("Emulation.setEmulatedMedia", {media, features: [{name: "prefers-color-scheme", value: scheme}]});
    await this.settled();
  }

  /** The page as PNG bytes: what is in view, or all of it. */
  async picture(whole = false) {
    const {data} = await this.send("Page.captureScreenshot", {format: "png", captureBeyondViewport: whole});
    return Buffer.from(data, "base64");
  }

  async paper() {
    const {data} = await this.send("Page.printToPDF", {printBackground: false});
    return Buffer.from(data, "base64");
  }
}
