import { setTimeout as sleep } from 'node:timers/promises'
import { send, untilKnown, type Load } from './service.ts'

const overlaps = ['skip', 'queue', 'allow', 'cancel_running'] as const

/** Creates a schedule of each kind of overlap that fires every minute, triggers and renames the schedules, and ends them when the load ends. */
export async function schedule(client: string, load: Load): Promise<void> {
  const { caller, random, isActive } = load
  const ids: string[] = []
  for (const overlap of overlaps) {
    const name = `${client}-${overlap}`
    const request = { messages: [{ role: 'user', content: `${name} ${random() < 0.5 ? 'talk' : 'read'}` }] }
    const body = { name, cron: '* * * * *', timezone: 'UTC', overlap, pause_after_failures: 0, request }
    const creation = { method: 'POST', path: '/core/v1/schedules', headers: { 'request-id': name }, body }
    const { reply } = await untilKnown(load, () => send(caller, [client, 'create schedule', { name }], creation, ({ id }) => ({ id })))
    if (reply) ids.push(reply.id)
  }
  for (let n = 0; isActive(); n++) {
    const id = ids[Math.floor(random() * ids.length)]
    const path = `/core/v1/schedules/${id}`
    if (random() < 0.6) await send(caller, [client, 'trigger', { id: id! }], { method: 'POST', path: `${path}/trigger` }, toTrigger)
    else
      await send(caller, [client, 'rename schedule', { id: id! }], { method: 'PATCH', path, body: { name: `${client} ${n}` } }, () => ({}))
    await sleep(500 + random() * 2000)
  }
  for (const id of ids) {
    const end = { method: 'DELETE', path: `/core/v1/schedules/${id}` }
    await untilKnown(load, () => send(caller, [client, 'end schedule', { id }], end, () => ({})))
  }
}

function toTrigger({ outcome, request_id: requestId }: { outcome: string; request_id?: string }) {
  return { outcome, ...(requestId !== undefined && { requestId }) }
}
