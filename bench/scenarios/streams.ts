import { number, type Figure } from '../report.ts'
import { compare, connectTo, expectTokens, quantile, type Bench, type Side } from '../sides.ts'
import { tokenText } from '../wire.ts'
import { busy } from './chats.ts'

/** Highest number of clients first, with which the service joins tokens that arrive together. */
const clientCounts = [64, 16]
const tokensPerAnswer = 1000
const aimOfRate = 0.9

/** Streams long answers as fast as the client reads. The model writes each token separately. */
export async function streams(bench: Bench): Promise<Figure[]> {
  const order = `bench:tokens ${tokensPerAnswer}`
  for (const side of [bench.relay, bench.service]) await expectTokens(side, 'stream', order, tokensPerAnswer)
  const figures: Figure[] = []
  for (const clients of clientCounts) figures.push(...(await ratesOf(bench, clients, order)))
  return [...figures, ...(await gaps(bench))]
}

async function ratesOf(bench: Bench, clients: number, order: string): Promise<Figure[]> {
  const { relay, service, ratio } = await compare(bench, clients, 'stream', { relay: order, service: order })
  const perToken = (us: number) => us / tokensPerAnswer
  const cpu = [perToken(relay.cpuUs), perToken(service.cpuUs)] as const
  return [
    {
      label: `streamed tokens/s, ${clients} clients`,
      relay: number(relay.perSecond * tokensPerAnswer),
      service: number(service.perSecond * tokensPerAnswer),
      ratio: number(ratio),
      aim: `>= ${aimOfRate}`,
      isMet: ratio >= aimOfRate,
    },
    { label: '  processor time per token', relay: number(cpu[0], 'us'), service: number(cpu[1], 'us'), ratio: number(cpu[1] / cpu[0]) },
    { label: '  busy: measured / model / load', relay: busy(relay), service: busy(service) },
  ]
}

/** Streams whose answers begin and end all the time, while the gaps between their tokens are measured. */
const paced = { clients: 64, tokens: 25, everyMs: 20 }
const aimOfGap = 1.3
const gapRounds = 3

/** Measures the gaps between two tokens at the client, in turns. Pauses of the service and of its garbage collection are seen here. */
async function gaps(bench: Bench): Promise<Figure[]> {
  const ms = { relay: [] as number[], service: [] as number[] }
  for (let round = 0; round < gapRounds; round++) {
    for (const name of ['relay', 'service'] as const) ms[name].push(...(await gapsOf(bench[name], bench.seconds)))
  }
  const [relay, service] = [quantile(ms.relay, 0.99), quantile(ms.service, 0.99)]
  return [
    {
      label: `gap between two tokens of ${paced.everyMs} ms, ${paced.clients} clients, p99`,
      relay: number(relay, 'ms'),
      service: number(service, 'ms'),
      ratio: number(service / relay),
      aim: `<= ${aimOfGap}`,
      isMet: service <= aimOfGap * relay,
    },
    { label: '  the longest', relay: number(quantile(ms.relay, 1), 'ms'), service: number(quantile(ms.service, 1), 'ms') },
  ]
}

async function gapsOf(side: Side, seconds: number): Promise<number[]> {
  const gapsMs: number[] = []
  const until = performance.now() + seconds * 1000
  const request = side.stream.request(`bench:slow ${paced.tokens} ${paced.everyMs}`)
  const clients = connectTo(side, side.stream.end, paced.clients)
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) await client.send(request, { gapsMs })
      client.close()
    }),
  )
  return gapsMs
}

const samples = 400
/** Requests before the measurement, so that the code of relay and service is compiled, as in a service that runs for days. */
const warmUp = 1000
const aimOfFirstToken = 0.6

/** Measures the time added by the service to the first token, with a single client. */
export async function firstToken(bench: Bench): Promise<Figure[]> {
  const ms = { relay: [] as number[], service: [] as number[] }
  const sides = ['relay', 'service'] as const
  const open = sides.map((name) => connectTo(bench[name], bench[name].stream.end, 1)[0]!)
  for (let sample = -warmUp; sample < samples; sample++) {
    for (const [index, name] of sides.entries()) {
      const { sentAt, tokenAt = NaN } = await open[index]!.send(bench[name].stream.request('bench:tokens 8'), { token: tokenText })
      if (sample >= 0) ms[name].push(tokenAt - sentAt)
    }
  }
  for (const client of open) client.close()
  const [relay, service] = [quantile(ms.relay, 0.5), quantile(ms.service, 0.5)]
  return [
    {
      label: 'time to first token, 1 client, median',
      relay: number(relay, 'ms'),
      service: number(service, 'ms'),
      ratio: `+${number(service - relay, 'ms')}`,
      aim: `< ${aimOfFirstToken} ms`,
      isMet: service - relay < aimOfFirstToken,
    },
  ]
}
