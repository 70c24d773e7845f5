import type { Principal } from '../../access/permissions.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import { toAgentConfig } from '../../configuration/parse.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { invalid, ServiceError } from '../../errors.ts'
import type { DatasetStore } from '../dataset-store.ts'
import type { ListedDataset } from '../dataset.ts'
import type { Experiment, ExperimentStore } from '../experiment-store.ts'
import type { ExperimentDraft, Experiments, ExperimentView } from '../experiments.ts'
import { faultOfLive, noTool } from '../replay/live.ts'
import type { ReplayPorts } from '../replay/options.ts'
import { checkScorers, scorersOf, type ScorerScope } from '../scorers/check-scorers.ts'
import type { Scorer } from '../scorers/scorer.ts'
import type { OpenAgent } from './agents.ts'
import { experimentName, totalOf, type ExperimentSpec, type ExperimentTools, type FrozenVariant } from './spec.ts'
import { viewNow } from './reads.ts'
import { freezeVariant } from './variants.ts'
import { toView } from './views.ts'

export interface CreateDependencies {
  store: Pick<ExperimentStore, 'insert' | 'findCreated' | 'done'>
  datasets: Pick<DatasetStore, 'find'>
  configuration: Pick<Configuration, 'preview' | 'show'>
  schemas: ScorerScope['schemas']
  openAgent: OpenAgent
  /** The configuration in use. */
  inUse(): AgentConfig
  writesInUse: ReplayPorts['writesInUse']
  /** Encrypts as stored configurations are encrypted. */
  seal(name: string, text: string): string
  /** Called when the job of an experiment is stored. */
  onCreated(): void
  now(): number
  newId(): string
}

/** Results of one experiment. */
const maxResults = 50_000

export function createCreation(dependencies: CreateDependencies): Pick<Experiments, 'create'> {
  const { store, configuration, seal, onCreated, now, newId } = dependencies
  return {
    async create(caller, draft, { requestId, bodyHash }) {
      const created = await store.findCreated(caller, requestId)
      if (created) return viewSame(created, bodyHash)
      const datasets = await findDatasets(caller, draft, dependencies)
      const scorers = await chooseScorers(caller, draft, datasets[0]!, dependencies)
      const { baseline = { kind: 'version', version: configuration.show().version }, candidate } = draft
      const inUse = dependencies.inUse()
      const variants = [await freezeVariant(baseline, 'baseline', { caller, configuration, inUse })]
      if (candidate) variants.push(await freezeVariant(candidate, 'candidate', { caller, configuration, inUse }))
      const tools = await checkTools(draft, variants, dependencies)
      const spec = toSpec(caller, draft, { datasets, scorers, variants, tools })
      const experiment = {
        tenant: caller.tenant,
        owner: caller.owner,
        id: newId(),
        requestId,
        bodyHash,
        spec,
        dataset: spec.datasets[0]!.id,
        configHash: variants.at(-1)!.configHash,
        createdAt: now(),
      }
      const configurations = seal(experimentName(experiment.id), JSON.stringify(variants.map(({ data }) => data)))
      const earlier = await store.insert({ ...experiment, configurations }, caller)
      if (earlier) return viewSame(earlier.known, bodyHash)
      onCreated()
      return toView({ ...experiment, status: 'pending', ...unended }, [])
    },
  }

  function viewSame(experiment: Experiment, bodyHash: string): Promise<ExperimentView> {
    if (experiment.bodyHash === bodyHash) return viewNow(experiment, dependencies)
    throw new ServiceError('request_id_reused', `The request id ${experiment.requestId} belongs to an experiment with another body.`)
  }
}

const unended = { verdict: undefined, summary: undefined, error: undefined, startedAt: undefined, endedAt: undefined }

async function findDatasets(
  { tenant }: Principal,
  { datasets: names }: ExperimentDraft,
  { datasets }: CreateDependencies,
): Promise<ListedDataset[]> {
  const found: ListedDataset[] = []
  for (const [n, name] of names.entries()) {
    const at = names.length === 1 ? ['body', 'dataset_id'] : ['body', 'dataset_ids', n]
    const dataset = await datasets.find(tenant, name)
    if (!dataset) throw new ServiceError('not_found', `There is no dataset ${name}.`)
    if (dataset.examples === 0) throw invalid(at, `the dataset ${dataset.name} has no examples`)
    if (found.some(({ id }) => id === dataset.id)) throw invalid(at, `the dataset ${dataset.name} is named twice`)
    found.push(dataset)
  }
  return found
}

async function chooseScorers(
  caller: Principal,
  { scorers }: ExperimentDraft,
  dataset: ListedDataset,
  { schemas }: CreateDependencies,
): Promise<readonly Scorer[]> {
  if (scorers) await checkScorers(scorers, { schemas, caller, at: ['body', 'scorers'] })
  return scorersOf(scorers ?? dataset.scorers)
}

function toSpec(
  { permissions: _permissions, ...identity }: Principal,
  { repetitions = 1 }: ExperimentDraft,
  parts: Pick<ExperimentSpec, 'scorers' | 'tools'> & { datasets: readonly ListedDataset[]; variants: readonly FrozenVariant[] },
): ExperimentSpec {
  const spec = {
    ...parts,
    identity,
    repetitions,
    datasets: parts.datasets.map(({ id, name, revision, examples }) => ({ id, name, revision, examples })),
    variants: parts.variants.map(({ data: _data, ...variant }) => variant),
  }
  const total = totalOf(spec)
  if (total > maxResults) throw invalid(['body', 'repetitions'], `the experiment would have ${total} results; ${maxResults} are the most`)
  return spec
}

/** Refuses tools that may not read during a replay: a tool must be allowed in each variant that has it. */
async function checkTools(
  { tools: { onMiss = 'fail', live = [] } = {} }: ExperimentDraft,
  variants: readonly FrozenVariant[],
  dependencies: CreateDependencies,
): Promise<ExperimentTools> {
  if (live.length === 0) return { onMiss, live }
  if (onMiss !== 'live') throw invalid(['body', 'tools', 'live'], 'has an effect only with on_miss "live"')
  const faults = await Promise.all(variants.map((variant) => findFaults(live, variant, dependencies)))
  for (const n of live.keys()) {
    const ofVariants = faults.map((ofTools) => ofTools[n])
    const fault = ofVariants.find((text) => text !== undefined && text !== noTool) ?? (ofVariants.includes(undefined) ? undefined : noTool)
    if (fault !== undefined) throw invalid(['body', 'tools', 'live', n], fault)
  }
  return { onMiss, live }
}

/** The fault of each tool; undefined for a tool that may read. */
async function findFaults(
  live: readonly string[],
  { data, pins }: FrozenVariant,
  { openAgent, inUse, writesInUse }: Pick<CreateDependencies, 'openAgent' | 'inUse' | 'writesInUse'>,
): Promise<(string | undefined)[]> {
  const opened = await openAgent(toAgentConfig(data), 'check', pins)
  try {
    return live.map((name) => faultOfLive(name, { agent: opened.agent, inUse: inUse(), writesInUse }))
  } finally {
    await opened.close()
  }
}
