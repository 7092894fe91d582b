// Starts Perfetto's engine. ask passes bytes on to it and returns its next answer, both in
// base64.
new Promise((resolve, reject) => {
  const engine = new Worker("worker.js"), channel = new MessageChannel()
  let answered = null
  engine.onerror = e => reject(new Error(e.message))
  engine.onmessage = () => resolve(true)
  channel.port1.onmessage = m => answered(m.data)
  engine.postMessage({ enginePort: channel.port2 }, [channel.port2])
  window.ask = async bytes => {
    const answer = new Promise(r => { answered = r })
    channel.port1.postMessage(Uint8Array.from(atob(bytes), c => c.charCodeAt(0)))
    return btoa(Array.from(await answer, b => String.fromCharCode(b)).join(""))
  }
})
