import { number, type Figure } from '../report.ts'
import { compare, expectTokens, quantile, relaySide, warmUp, type Bench, type Comparison } from '../sides.ts'

/** JSON chats of eight tokens, each in a new session. */
export async function chats(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const side of [bench.relay, bench.service]) await expectTokens(side, 'json', 'bench:short', 8)
  await warmUp(bench, { relay: 'bench:short', service: 'bench:short' })
  for (const clients of [64, 16, 1]) {
    const compared = await compare(bench, clients, 'json', { relay: 'bench:short', service: 'bench:short' })
    figures.push(...toFigures(compared, clients))
  }
  return figures
}

const aimAt64 = 0.15

function toFigures(comparison: Comparison, clients: number): Figure[] {
  const { relay, service, ratio } = comparison
  const at = `, ${clients} ${clients === 1 ? 'client' : 'clients'}`
  const latencies = (q: number): Figure => {
    const [ofRelay, ofService] = [quantile(relay.latencies, q), quantile(service.latencies, q)]
    return {
      label: `  p${q * 100}${at}`,
      relay: number(ofRelay, 'ms'),
      service: number(ofService, 'ms'),
      ratio: number(ofService / ofRelay),
    }
  }
  const aim = clients === 64 ? { aim: `>= ${aimAt64}`, isMet: ratio >= aimAt64 } : {}
  return [
    { label: `chats/s${at}`, ...rateOf(comparison), ...aim },
    latencies(0.5),
    latencies(0.99),
    { label: `  processor time per chat${at}`, ...cpuOf(comparison) },
    { label: `  busy: measured / model / load${at}`, relay: busy(relay), service: busy(service) },
  ]
}

/** Formats the shares of a core in percent. A measured process near 100 is the bottleneck. */
export function busy({ shares }: Comparison['relay']): string {
  return [shares.measured, shares.model, shares.load].map((share) => `${Math.round(share * 100)}`).join('/')
}

const aimsOfCalls = { 1: 4, 5: 4.5 }

/** Chats with calls of a cheap tool: beside the relay's chats without tools, and beside a relay that makes the same calls of the model and the tool. */
export async function tools(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  await warmUp(bench, { relay: 'bench:short', service: 'bench:tools 5' })
  for (const calls of [1, 5] as const) {
    const order = `bench:tools ${calls}`
    const toPlain = await compare(bench, 16, 'json', { relay: 'bench:short', service: order })
    const relay = relaySide(bench.relay.part, '/tools')
    await expectTokens(relay, 'json', order, 8)
    const toSame = await compare({ ...bench, relay }, 16, 'json', { relay: order, service: order })
    const of = `${calls} tool ${calls === 1 ? 'call' : 'calls'}, 16 clients`
    const aim = aimsOfCalls[calls]
    const isMet = toPlain.service.cpuUs / toPlain.relay.cpuUs <= aim
    figures.push(
      { label: `chats/s with ${of}`, ...rateOf(toPlain) },
      { label: '  processor time per chat', ...cpuOf(toPlain), aim: `<= ${aim}`, isMet },
      { label: '  beside a relay with the same calls', ...cpuOf(toSame) },
    )
  }
  return figures
}

function rateOf({ relay, service, ratio }: Comparison): Omit<Figure, 'label'> {
  return { relay: number(relay.perSecond), service: number(service.perSecond), ratio: number(ratio) }
}

function cpuOf({ relay, service }: Comparison): Omit<Figure, 'label'> {
  return { relay: number(relay.cpuUs, 'us'), service: number(service.cpuUs, 'us'), ratio: number(service.cpuUs / relay.cpuUs) }
}
