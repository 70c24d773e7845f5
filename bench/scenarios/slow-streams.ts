import { cpuMs, residentMb } from '../processes.ts'
import { number, type Figure } from '../report.ts'
import { connectTo, quantile, type Bench, type Side } from '../sides.ts'

const streams = 2000
/** Reading speed of a person. */
const tokensPerSecond = 5
const lengthMs = 10_000
/** Allowed delay of the end of an answer, including the time to open all streams at once. */
const lateMs = 2000
const aimOfMemory = 400

interface SlowStreamsResult {
  /** Delay of the end of each answer, in milliseconds. */
  lateness: number[]
  /** Resident memory before the load, at the median of the load, and at the peak. */
  restMb: number
  openMb: number
  peakMb: number
  cpuShare: number
}

/** Measures delay and memory with many slow streams at once, as with many people reading answers. */
export async function slowStreams(bench: Bench): Promise<Figure[]> {
  const relay = await run(bench.relay)
  const service = await run(bench.service)
  const label = `${streams} streams of ${tokensPerSecond} tokens/s for ${lengthMs / 1000} s`
  const cells = (q: number) => ({ relay: number(quantile(relay.lateness, q), 'ms'), service: number(quantile(service.lateness, q), 'ms') })
  const lateCount = service.lateness.filter((ms) => ms > lateMs).length
  const perStream = (slow: SlowStreamsResult) => number(((slow.openMb - slow.restMb) * 1024) / streams, 'KB')
  return [
    { label: `${label}: finished late, median`, ...cells(0.5) },
    { label: '  the latest', ...cells(1), ratio: `${lateCount} late`, aim: `none > ${lateMs / 1000} s`, isMet: lateCount === 0 },
    {
      label: '  memory, peak',
      relay: number(relay.peakMb, 'MB'),
      service: number(service.peakMb, 'MB'),
      aim: `< ${aimOfMemory} MB`,
      isMet: service.peakMb < aimOfMemory,
    },
    { label: '  memory per open stream', relay: perStream(relay), service: perStream(service) },
    { label: '  share of a core', relay: number(relay.cpuShare), service: number(service.cpuShare) },
  ]
}

async function run(side: Side): Promise<SlowStreamsResult> {
  const { pid } = side.part
  const memory = () => residentMb(pid) ?? NaN
  const restMb = memory()
  const samplesMb: number[] = []
  const sampler = setInterval(() => samplesMb.push(memory()), 100)
  const clients = connectTo(side, side.stream.end, streams)
  const everyMs = 1000 / tokensPerSecond
  const request = side.stream.request(`bench:slow ${lengthMs / everyMs} ${everyMs}`)
  const before = { at: performance.now(), cpu: cpuMs(pid) ?? NaN }
  const answers = await Promise.all(clients.map((client) => client.send(request)))
  const cpuShare = ((cpuMs(pid) ?? NaN) - before.cpu) / (performance.now() - before.at)
  clearInterval(sampler)
  for (const client of clients) client.close()
  // The closing chunk adds an interval.
  const lateness = answers.map(({ sentAt, endedAt }) => endedAt - sentAt - lengthMs - everyMs)
  return { lateness, restMb, openMb: quantile(samplesMb, 0.5), peakMb: Math.max(...samplesMb), cpuShare }
}
