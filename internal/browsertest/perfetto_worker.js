// Perfetto's engine as a worker which says when it takes requests: one that comes before
// that is lost. Its module is ready when it has been told where its answers go.
for (const name of ["instantiate", "instantiateStreaming"]) {
  const make = WebAssembly[name]
  WebAssembly[name] = async (...args) => {
    const made = await make(...args), exports = { ...made.instance.exports }
    exports.trace_processor_rpc_init = (...with_) => {
      const buffer = made.instance.exports.trace_processor_rpc_init(...with_)
      setTimeout(() => postMessage("ready"))
      return buffer
    }
    return { module: made.module, instance: { exports } }
  }
}
importScripts("engine_bundle.js")
