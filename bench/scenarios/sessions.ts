import { randomUUID } from 'node:crypto'
import type { Client } from '../load.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, quantile, type Bench } from '../sides.ts'

const turns = 500
const samples = 60
const aim = 1.1

/** The first turn of a session against turn 500 and those behind it, taken in turns. */
export async function sessions(bench: Bench): Promise<Figure[]> {
  const [client] = connectTo(bench.service, bench.service.json.end, 1) as [Client]
  const old = randomUUID()
  for (let turn = 1; turn < turns; turn++) await ask(bench, client, old)
  const first: number[] = []
  const last: number[] = []
  for (let sample = 0; sample < samples; sample++) {
    first.push(await ask(bench, client, randomUUID()))
    last.push(await ask(bench, client, old))
  }
  client.close()
  const [ofFirst, ofLast] = [quantile(first, 0.5), quantile(last, 0.5)]
  return [
    { what: 'latency of turn 1, median', service: number(ofFirst, 'ms') },
    {
      what: `latency of turn ${turns}, median`,
      service: number(ofLast, 'ms'),
      ratio: `${number(ofLast / ofFirst)} of turn 1`,
      aim: `<= ${aim}`,
      isMet: ofLast / ofFirst <= aim,
    },
  ]
}

async function ask({ service }: Bench, client: Client, session: string): Promise<number> {
  const { sentAt, endedAt } = await client.send(service.json.request('bench:short', { 'session-id': session }))
  return endedAt - sentAt
}
