import { setTimeout as sleep } from 'node:timers/promises'
import { send, untilKnown, type Load } from './service.ts'

const kinds = ['talk', 'read', 'slow'] as const
const most = 3

/** Starts runs, and sends messages to each while it works, or when it has just ended. */
export async function steer(client: string, load: Load): Promise<void> {
  const { caller, random, isActive } = load
  for (let n = 0; isActive(); n++) {
    const requestId = `${client}-${n}`
    await begin(client, requestId, kinds[Math.floor(random() * kinds.length)]!, load)
    const count = 1 + Math.floor(random() * most)
    for (let m = 0; m < count; m++) {
      await sleep(random() * 700)
      const id = `${requestId}-m${m}`
      const mode = random() < 0.8 ? 'steer' : 'follow_up'
      const request = {
        method: 'POST',
        path: `/core/v1/runs/${requestId}/messages`,
        headers: { 'request-id': id },
        body: { message: id, mode },
      }
      await untilKnown(load, () => send(caller, [client, 'steer', { requestId, id, mode }], request, ({ position }) => ({ position })))
    }
    await sleep(300 + random() * 700)
  }
}

async function begin(client: string, requestId: string, kind: (typeof kinds)[number], load: Load): Promise<void> {
  const event = { specversion: '1.0', type: 'ai.service.agent.chain', source: 'urn:chaos', id: requestId, time: new Date().toISOString() }
  const data = { messages: [{ role: 'user', content: `${requestId} ${kind}` }] }
  const headers = { 'request-id': requestId, 'session-id': `of-${requestId}` }
  const request = { method: 'POST', path: '/core/v1/chain_async', headers, body: { ...event, data } }
  await untilKnown(load, () => send(load.caller, [client, 'steered chat', { requestId }], request, () => ({})))
}
