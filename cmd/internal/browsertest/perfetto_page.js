// Starts Perfetto's engine, which compiles its module before it receives its first message.
// ask passes bytes on to it and returns its next answer, both in base64.
(() => {
  const engine = new Worker("engine_bundle.js"), channel = new MessageChannel()
  let answered, failed
  engine.onerror = e => failed(new Error(e.message))
  channel.port1.onmessage = m => answered(m.data)
  engine.postMessage({ enginePort: channel.port2 }, [channel.port2])
  window.ask = async bytes => {
    const answer = new Promise((resolve, reject) => { answered = resolve; failed = reject })
    channel.port1.postMessage(Uint8Array.from(atob(bytes), c => c.charCodeAt(0)))
    return btoa(Array.from(await answer, b => String.fromCharCode(b)).join(""))
  }
})()
