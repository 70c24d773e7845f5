import { number, type Figure } from '../report.ts'
import { compare, connectTo, expectTokens, quantile, type Bench } from '../sides.ts'
import { tokenText } from '../wire.ts'
import { busy } from './chats.ts'

const clients = 64
const tokensPerAnswer = 1000
const aimOfRate = 0.5

/** Streams long answers as fast as the client reads. The model writes each token separately. */
export async function streams(bench: Bench): Promise<Figure[]> {
  const order = `bench:tokens ${tokensPerAnswer}`
  for (const side of [bench.relay, bench.service]) await expectTokens(side, 'stream', order, tokensPerAnswer)
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
