import { randomUUID } from 'node:crypto'
import type { Client } from '../load.ts'
import { threadsCpuMs } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, quantile, type Bench } from '../sides.ts'

const turns = 1000
const early = 20
const samples = 60
const aims = { first: 1.1, early: 1.1, cpu: 1.3 }

/** Compares the latency of turn 1 and turn 20 of a session with turn 1,000 and later turns. The samples alternate. */
export async function sessions(bench: Bench): Promise<Figure[]> {
  const [client] = connectTo(bench.service, bench.service.json.end, 1) as [Client]
  const old = await sessionOf(bench, client, turns - 1)
  const figures = { first: [] as number[], early: [] as number[], last: [] as number[] }
  const cpu = { first: 0, early: 0, last: 0 }
  const take = async (name: keyof typeof figures, session: string) => {
    const before = threadsCpuMs(bench.service.part.pid)
    figures[name].push(await ask(bench, client, session))
    cpu[name] += (threadsCpuMs(bench.service.part.pid) - before) / samples
  }
  for (let sample = 0; sample < samples; sample++) {
    const young = await sessionOf(bench, client, early - 1)
    await take('first', randomUUID())
    await take('early', young)
    await take('last', old)
  }
  client.close()
  const lastMedianMs = quantile(figures.last, 0.5)
  const compared = (['first', 'early'] as const).map((name): Figure => {
    const ratio = lastMedianMs / quantile(figures[name], 0.5)
    const turn = name === 'first' ? 1 : early
    return {
      label: `latency of turn ${turn}, median`,
      service: number(quantile(figures[name], 0.5), 'ms'),
      ratio: `turn ${turns}: ${number(ratio)} times`,
      aim: `<= ${aims[name]}`,
      isMet: ratio <= aims[name],
    }
  })
  return [
    ...compared,
    { label: `latency of turn ${turns}, median`, service: number(lastMedianMs, 'ms') },
    { label: 'processor time of turn 1', service: number(cpu.first * 1000, 'us') },
    {
      label: `processor time of turn ${turns}`,
      service: number(cpu.last * 1000, 'us'),
      ratio: `turn 1: ${number(cpu.last / cpu.first)} times`,
      aim: `<= ${aims.cpu}`,
      isMet: cpu.last / cpu.first <= aims.cpu,
    },
  ]
}

async function sessionOf(bench: Bench, client: Client, length: number): Promise<string> {
  const session = randomUUID()
  for (let turn = 0; turn < length; turn++) await ask(bench, client, session)
  return session
}

async function ask({ service }: Bench, client: Client, session: string): Promise<number> {
  const { sentAt, endedAt } = await client.send(service.json.request('bench:short', { 'session-id': session }))
  return endedAt - sentAt
}
