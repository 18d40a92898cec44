// The search runs in a worker, which browsers refuse to pages opened from a folder. There, a hidden frame runs the same
// script: a frame without an address belongs to its page, and its global object sends and receives messages as a worker's.
if (location.protocol === "file:") {
  const message = (data) => new MessageEvent("message", { data: structuredClone(data) }); // both sides change what they get

  window.Worker = class {
    constructor(address) {
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.onmessage?.(message(data)));
      const script = inside.document.createElement("script");
      script.src = new URL(address, location);
      script.onload = () => {
        this.send = (data) => inside.onmessage(message(data));
        this.waiting.forEach(this.send);
      };
      script.onerror = (event) => this.onerror?.(event);
      inside.document.head.append(script);
    }

    postMessage(data) {
      setTimeout(() => (this.send ? this.send(data) : this.waiting.push(data)));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
