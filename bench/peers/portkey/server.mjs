import { Server } from 'node:net'

// The gateway has no option for the address that it listens on. This wrapper restricts it to loopback.
const listen = Server.prototype.listen
Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  return listen.call(this, { port, host: '127.0.0.1' }, ...rest.filter((argument) => typeof argument === 'function'))
}
process.argv.push(`--port=${process.env.PORT}`, '--headless')
await import('@portkey-ai/gateway/build/start-server.js')
