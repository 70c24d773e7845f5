import type { Owner } from '../../access/owner.ts'
import { metered } from '../../agent/meter.ts'
import type { Agent } from '../../configuration/agent.ts'
import type { ConfigData } from '../../configuration/change/merge.ts'
import { costOf } from '../../configuration/model-schema.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { CallerSchemas } from '../../runs/execution/ports.ts'
import type { Experiment, ExperimentStore } from '../experiment-store.ts'
import { toLiveReads } from '../replay/live.ts'
import type { ReplayPorts } from '../replay/options.ts'
import type { OpenAgent } from './agents.ts'
import type { MeasureOptions, OpenVariant } from './measure.ts'
import { experimentName } from './spec.ts'

export interface VariantDependencies {
  store: Pick<ExperimentStore, 'configurations'>
  openAgent: OpenAgent
  /** The configuration in use. */
  inUse(): AgentConfig
  /** Decrypts what was encrypted when the experiment was made. */
  open(name: string, sealed: string): string
  schemas: Pick<CallerSchemas, 'faultsOf'>
  replays: Omit<ReplayPorts, 'readMedia'>
}

/** Opens the agents of the frozen configurations. Throws for a configuration that this process cannot use, and for files that have changed since. */
export async function openVariants(
  { tenant, id, spec }: Experiment,
  { store, open, openAgent, inUse, replays: { writesInUse } }: VariantDependencies,
): Promise<{ variants: OpenVariant[]; close(): Promise<void> }> {
  await using stack = new AsyncDisposableStack()
  const sealed = (await store.configurations(tenant, id)) ?? '[]'
  const configurations = JSON.parse(open(experimentName(id), sealed)) as ConfigData[]
  const variants: OpenVariant[] = []
  for (const [index, { kind, configHash = id, pins }] of spec.variants.entries()) {
    const { agent } = stack.adopt(await openAgent(toAgentConfig(configurations[index]), configHash, pins), (opened) => opened.close())
    variants.push({ kind, agent, live: toLiveReads(spec.tools.live, { agent, inUse: inUse(), writesInUse }) })
  }
  const opened = stack.move()
  return { variants, close: () => opened.disposeAsync() }
}

/** Everything that replays and scores of an experiment have in common. */
export function toMeasureOptions(
  { spec, tenant, owner }: Experiment,
  variants: readonly OpenVariant[],
  { replays, schemas }: VariantDependencies,
  signal: AbortSignal,
): MeasureOptions {
  // One judge for all variants.
  const judge = variants[0]!.agent
  return {
    variants,
    scorers: spec.scorers,
    onMiss: spec.tools.onMiss,
    owner: { tenant, owner },
    ports: replays,
    scoring: {
      models: () => judgesOf(judge, { tenant, owner }, replays),
      costOf(usage) {
        const prices = judge.findPrices(usage.model, usage.place)
        return prices && costOf(usage, prices)
      },
      faultsOf: (schema, value) => schemas.faultsOf('answer', schema, value, { tenant, owner }),
      newId: replays.newId,
    },
    signal,
  }
}

/** The models of an agent as judges, paid by the budgets in force. */
function judgesOf(agent: Agent, owner: Owner, { budgets, limits }: Pick<ReplayPorts, 'budgets' | 'limits'>) {
  const { model: primary, small, config } = agent
  const inForce = limits()
  if (!inForce) return { primary, small }
  const meter = budgets.open({ ...owner, operation: 'experiment', fence: 0 }, { ...agent, config: { ...config, budgets: inForce } })
  return { primary: metered(primary, meter), small: small && metered(small, meter) }
}
