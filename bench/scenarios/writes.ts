import { writesOf } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, type Bench } from '../sides.ts'
import type { Client } from '../load.ts'

const warmUp = 200
const chats = 640
const aims = { kb: 30, calls: 12 }

/** Counts what the service writes for one chat after another, each in a new session: database, log and sockets. */
export async function writes({ service }: Bench): Promise<Figure[]> {
  const [client] = connectTo(service, service.json.end, 1) as [Client]
  const ask = async (count: number) => {
    for (let chat = 0; chat < count; chat++) await client.send(service.json.request('bench:short'))
  }
  await ask(warmUp)
  const before = writesOf(service.part.pid)
  await ask(chats)
  const after = writesOf(service.part.pid)
  client.close()
  const kb = (after.bytes - before.bytes) / chats / 1000
  const calls = (after.calls - before.calls) / chats
  return [
    { label: 'written for a chat alone', service: number(kb, 'KB'), aim: `<= ${aims.kb} KB`, isMet: kb <= aims.kb },
    { label: '  in calls', service: number(calls), aim: `<= ${aims.calls}`, isMet: calls <= aims.calls },
  ]
}
