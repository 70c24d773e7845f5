import { number, type Figure } from '../report.ts'
import { compare, expectTokens, quantile, type Bench, type Comparison } from '../sides.ts'

/** JSON chats of eight tokens, each in a new session. */
export async function chats(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const side of [bench.relay, bench.service]) await expectTokens(side, 'json', 'bench:short', 8)
  // In a second, one client sends too few chats for V8 to compile the service, and the first clients pay for compilation.
  for (const clients of [16, 64, 1]) {
    const compared = await compare(bench, clients, 'json', { relay: 'bench:short', service: 'bench:short' })
    figures.push(...toFigures(compared, clients))
  }
  return figures
}

const aimAt64 = 0.15

function toFigures({ relay, service, ratio }: Comparison, clients: number): Figure[] {
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
  const cpu = { relay: number(relay.cpuUs, 'us'), service: number(service.cpuUs, 'us'), ratio: number(service.cpuUs / relay.cpuUs) }
  return [
    { label: `chats/s${at}`, relay: number(relay.perSecond), service: number(service.perSecond), ratio: number(ratio), ...aim },
    latencies(0.5),
    latencies(0.99),
    { label: `  processor time per chat${at}`, ...cpu },
    { label: `  busy: measured / model / load${at}`, relay: busy(relay), service: busy(service) },
  ]
}

/** Formats the shares of a core in percent. A measured process near 100 is the bottleneck. */
export function busy({ shares }: Comparison['relay']): string {
  return [shares.measured, shares.model, shares.load].map((share) => `${Math.round(share * 100)}`).join('/')
}

/** Chats with calls of a cheap tool, compared with the relay's chats without tools. */
export async function tools(bench: Bench): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const calls of [1, 5]) {
    const { relay, service, ratio } = await compare(bench, 16, 'json', { relay: 'bench:short', service: `bench:tools ${calls}` })
    const cpu = { relay: number(relay.cpuUs, 'us'), service: number(service.cpuUs, 'us'), ratio: number(service.cpuUs / relay.cpuUs) }
    const label = `chats/s with ${calls} tool ${calls === 1 ? 'call' : 'calls'}, 16 clients`
    figures.push(
      { label, relay: number(relay.perSecond), service: number(service.perSecond), ratio: number(ratio) },
      { label: '  processor time per chat', ...cpu },
    )
  }
  return figures
}
