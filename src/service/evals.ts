import type { Logger } from 'pino'
import type { Identity } from '../access/identity.ts'
import type { Owner } from '../access/owner.ts'
import type { Principal } from '../access/permissions.ts'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { createDatasets, type Datasets } from '../evals/datasets.ts'
import type { OpenAgent } from '../evals/experiments/agents.ts'
import { createCreation } from '../evals/experiments/create.ts'
import { createReads } from '../evals/experiments/reads.ts'
import type { ExperimentStore } from '../evals/experiment-store.ts'
import type { Experiments } from '../evals/experiments.ts'
import { readRecordedRun } from '../evals/from-run.ts'
import type { ReplayPorts } from '../evals/replay/options.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { RunStore } from '../runs/run-store.ts'
import { createFindRunKey } from '../runs/run-view.ts'
import type { Database } from '../store/database.ts'
import { createDatasetStore } from '../store/evals/datasets.ts'
import { createExperimentStore } from '../store/evals/experiments.ts'
import { plainBox, type SecretBox } from '../store/secrets/secret-box.ts'

interface EvalsOptions extends Pick<ReplayPorts, 'schemas' | 'clientTools' | 'images' | 'readTool' | 'budgets' | 'observer' | 'publicUrl'> {
  database: Database
  agent: CurrentAgent
  configuration: Configuration
  openAgent: OpenAgent
  principalNow(identity: Identity): Promise<Principal | undefined>
  /** Absent where configurations are stored without encryption. */
  box: SecretBox | undefined
  store: RunStore
  openCalls: ApprovalStore
  artifacts: Pick<Artifacts, 'read'>
  jobs: Jobs
  overload(): string | undefined
  /** The owners of the runs in this process. */
  running(): Iterable<Owner>
  now(): number
  newId(): string
  log: Logger
}

interface OpenEvals {
  services: { datasets: Datasets; experiments: Experiments; experimentStore: ExperimentStore }
  /** Leaves the rest of experiments to other processes. */
  stop(): void
}

/** Wires datasets and experiments, and starts to do the jobs of experiments. */
export function openEvals(options: EvalsOptions): OpenEvals {
  const { database, agent, configuration, openAgent, store, openCalls, artifacts, schemas, jobs, box = plainBox, now, newId } = options
  const datasets = createDatasetStore(database)
  const experiments = createExperimentStore(database)
  const writesInUse = (name: string) =>
    agent()
      .tools.list()
      .some((listing) => listing.name === name && listing.tool?.effect === 'write')
  const shared = { store: experiments, datasets, openAgent, schemas, inUse: () => agent().config, writesInUse, now }
  const services = {
    datasets: createDatasets({
      store: datasets,
      findRun: createFindRunKey(store),
      readRun: (key) => readRecordedRun(key, { store, approvals: openCalls }),
      schemas,
      media: { images: store.images, mediaBytes: store.mediaBytes, readArtifact: artifacts.read },
      config: () => agent().config.evals,
      now,
      newId,
    }),
    experiments: {
      ...createCreation({ ...shared, configuration, seal: box.seal, onCreated: () => jobs.wake('experiment'), newId }),
      ...createReads(shared),
    },
    experimentStore: experiments,
  }
  return { services, stop: workOnExperiments(shared, options) }
}

/** Experiments of one process at the same time; they share the places of replays. */
const experimentsAtOnce = 2

type Shared = Pick<Parameters<typeof createReads>[0], 'now'> & {
  store: ExperimentStore
  datasets: ReturnType<typeof createDatasetStore>
  openAgent: OpenAgent
  schemas: ReplayPorts['schemas']
  inUse(): AgentConfig
  writesInUse: ReplayPorts['writesInUse']
}

/** Does the jobs of experiments until the returned function is called. */
function workOnExperiments(shared: Shared, options: EvalsOptions): () => void {
  const {
    agent,
    principalNow,
    box = plainBox,
    overload,
    running,
    clientTools,
    images,
    readTool,
    budgets,
    observer,
    publicUrl,
    newId,
    log,
  } = options
  const concurrency = () => agent().config.evals.concurrency

  /** The first experiment loads what replays need. */
  async function createWork() {
    const [{ createExperimentWork }, { createReplayPace }] = await Promise.all([
      import('../evals/experiments/work.ts'),
      import('../evals/experiments/pace.ts'),
    ])
    const isBusy = () => !Iterator.from(running()).next().done
    const replays = {
      schemas: shared.schemas,
      writesInUse: shared.writesInUse,
      clientTools,
      images,
      readTool,
      budgets,
      observer,
      publicUrl,
      newId,
      now: shared.now,
      limits: () => agent().config.budgets,
      onFault: (err: unknown) => log.error({ err }, 'A replay has met an internal error'),
    }
    const pace = createReplayPace({ concurrency, overload, isBusy })
    return createExperimentWork({ ...shared, principalNow, open: box.open, pace, concurrency, replays })
  }

  let work: ReturnType<typeof createWork> | undefined
  const closing = new AbortController()
  const stopJobs = options.jobs.handle('experiment', experimentsAtOnce, async (job, signal) => {
    try {
      return await (
        await (work ??= createWork())
      )(job, AbortSignal.any([signal, closing.signal]))
    } catch (error) {
      if (!closing.signal.aborted) throw error
      return { kind: 'again', at: shared.now() }
    }
  })
  return () => {
    stopJobs()
    closing.abort()
  }
}
