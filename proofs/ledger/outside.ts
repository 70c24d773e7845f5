import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { startModelServer, type ModelServerRequest } from '../../test/fixtures/model-server.ts'

/** Calls that a model requests in one turn. */
export const callsPerChat = 10

/** A model that requests writes, and a receiver that counts how often each call arrives, by its id. */
export async function startOutside(random: () => number) {
  const effects = new Map<string, number>()
  const model = await startModelServer(({ body }: ModelServerRequest) => {
    const last = body.messages.at(-1)
    if (last.role === 'tool') return { text: 'Done.' }
    const calls = Array.from({ length: callsPerChat }, (_, n) => ({
      name: 'ledger__record',
      arguments: JSON.stringify({ what: `${String(last.content).slice(0, 100)} ${n}` }),
    }))
    return { calls }
  })
  const receiver = http.createServer((request, response) => {
    request.resume()
    const call = String(request.headers['idempotency-key'])
    effects.set(call, (effects.get(call) ?? 0) + 1)
    void sleep(random() * 25).then(() => response.setHeader('content-type', 'application/json').end('{}'))
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', 4096, resolve))
  const address = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
  return {
    modelUrl: model.url,
    ledgerUrl: `http://${address}`,
    callbackHost: address,
    effects,
    async close() {
      await model.close()
      receiver.close()
      receiver.closeAllConnections()
    },
  }
}
