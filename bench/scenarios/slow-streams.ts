import { cpuMs, residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, quantile, type Bench, type Side } from '../sides.ts'

const streams = 2000
/** As fast as people read. */
const tokensPerSecond = 5
const lengthMs = 10_000
/** An answer that ends later than this after its time is late; opening all of them at once is part of it. */
const lateMs = 2000
const aimOfMemory = 400

interface Slow {
  /** Milliseconds between when each answer should have ended and when it did. */
  lateness: number[]
  /** Resident memory before, in the middle of it, and at most. */
  restMb: number
  openMb: number
  peakMb: number
  cpuShare: number
}

/** As many slow streams at once as people who wait for an answer: who finishes when, and in how much memory. */
export async function slowStreams(bench: Bench): Promise<Figure[]> {
  const relay = await run(bench.relay)
  const service = await run(bench.service)
  const what = `${streams} streams of ${tokensPerSecond} tokens/s for ${lengthMs / 1000} s`
  const ofAll = (q: number) => ({ relay: number(quantile(relay.lateness, q), 'ms'), service: number(quantile(service.lateness, q), 'ms') })
  const late = service.lateness.filter((ms) => ms > lateMs).length
  const perStream = (slow: Slow) => number(((slow.openMb - slow.restMb) * 1024) / streams, 'KB')
  return [
    { what: `${what}: finished late, median`, ...ofAll(0.5) },
    { what: '  the latest', ...ofAll(1), ratio: `${late} late`, aim: `none > ${lateMs / 1000} s`, isMet: late === 0 },
    {
      what: '  memory, peak',
      relay: number(relay.peakMb, 'MB'),
      service: number(service.peakMb, 'MB'),
      aim: `< ${aimOfMemory} MB`,
      isMet: service.peakMb < aimOfMemory,
    },
    { what: '  memory per open stream', relay: perStream(relay), service: perStream(service) },
    { what: '  share of a core', relay: number(relay.cpuShare), service: number(service.cpuShare) },
  ]
}

async function run(side: Side): Promise<Slow> {
  const { pid } = side.part
  const memory = () => residentMb(pid) ?? NaN
  const restMb = memory()
  const seen: number[] = []
  const watching = setInterval(() => seen.push(memory()), 100)
  const clients = connectTo(side, side.stream.end, streams)
  const everyMs = 1000 / tokensPerSecond
  const request = side.stream.request(`bench:slow ${lengthMs / everyMs} ${everyMs}`)
  const before = { at: performance.now(), cpu: cpuMs(pid) ?? NaN }
  const answers = await Promise.all(clients.map((client) => client.send(request)))
  const cpuShare = ((cpuMs(pid) ?? NaN) - before.cpu) / (performance.now() - before.at)
  clearInterval(watching)
  for (const client of clients) client.close()
  // The closing chunk takes an interval of its own.
  const lateness = answers.map(({ sentAt, endedAt }) => endedAt - sentAt - lengthMs - everyMs)
  return { lateness, restMb, openMb: quantile(seen, 0.5), peakMb: Math.max(...seen), cpuShare }
}
