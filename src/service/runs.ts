import type { Logger } from 'pino'
import { createDocumentCache } from '../files/document-text.ts'
import { createImages } from '../files/images.ts'
import type { FilesRoot } from '../files/root.ts'
import { watchLoad } from '../metrics/load.ts'
import { createAdmission, type AdmissionDependencies } from '../runs/intake/admission.ts'
import type { OverrideRules } from '../budgets/overrides.ts'
import { createApprovals, type ApprovalsDependencies } from '../runs/approvals/approvals.ts'
import { createToRaise } from '../runs/approvals/raise-limit.ts'
import { createAttachments } from '../runs/attachments/attachments.ts'
import { createRuns, type RunsDependencies, type Runs } from '../runs/runs.ts'
import { createDirectExecution, type DirectExecutionDependencies } from '../runs/tool-executions/direct-execution.ts'
import { toUnknown } from '../runs/execution/acts.ts'
import type { Jobs } from '../runs/jobs.ts'
import { logEnd } from '../runs/ownership/live-run.ts'
import { logFault, logSummary } from '../runs/run-observer.ts'
import { createClientWaits } from '../runs/execution/client-waits.ts'
import { createSummaries } from '../runs/window/summary.ts'
import { createApprovalStore } from '../store/runs/approvals.ts'
import type { Database } from '../store/database.ts'
import { createExecutionStore } from '../store/runs/executions.ts'
import { createRunTails } from '../store/runs/logs.ts'
import { createSubAgentStore } from '../store/configuration/sub-agents.ts'
import { createSummaryStore } from '../store/sessions/conversations.ts'
import { createSubAgents } from '../sub-agents/sub-agents.ts'
import { createCallerSchemas } from '../tools/caller-schemas/caller-schemas.ts'
import { createClientTools } from '../tools/client-tools.ts'
import { createReadOf } from '../tools/files/files.ts'
import type { Uploads } from '../uploads/uploads.ts'

/** Dependencies of runs, without the parts made in `openRuns`. */
type SharedDependencies = Omit<
  RunsDependencies,
  | 'admission'
  | 'attachments'
  | 'images'
  | 'readTool'
  | 'clientTools'
  | 'schemas'
  | 'clientWaits'
  | 'subAgents'
  | 'onFault'
  | 'onEnd'
  | 'jobs'
>

interface RunsOptions extends SharedDependencies, Pick<DirectExecutionDependencies, 'files' | 'onExecuted'> {
  limits: Pick<AdmissionDependencies, 'runsElsewhere' | 'countRuns'>
  jobs: Jobs
  database: Database
  overrideRules: Pick<OverrideRules, 'raise'>
  root: FilesRoot
  uploads: Uploads
  log: Logger
}

/** Number of concurrent summaries: a small one, because summaries call a model and runs should not wait. */
const summaryConcurrency = 2

/** Interval of the search for unclaimed runs, which costs a read and rarely finds a run. */
const requeueEveryMs = 60_000

/** Concurrent expiries; each ends a run. */
const expiryConcurrency = 4

/** Wires runs, direct tool executions and summaries. */
export function openRuns(stack: AsyncDisposableStack, options: RunsOptions) {
  const { database, overrideRules, root, files, uploads, onExecuted, limits, log, ...runPorts } = options
  const { agent, store, jobs, holder, now, newId } = runPorts
  const documents = createDocumentCache()
  const images = createImages()
  const readTool = createReadOf({ files: root, documents })
  const onSubAgentFault = (err: unknown) => log.error({ err }, 'The state of a sub-agent could not be stored')
  const { isShared } = database
  const subAgents = createSubAgents({ ...runPorts, store: createSubAgentStore(database), isShared, onFault: onSubAgentFault })
  const load = stack.adopt(watchLoad(), (watch) => watch.close())
  const admission = createAdmission({ agent, ...load, ...limits })
  const openCalls = createApprovalStore(database)
  const schemas = stack.adopt(createCallerSchemas(), ({ close }) => close())
  const clientTools = createClientTools(schemas)
  const runs: Runs = createRuns({
    ...runPorts,
    clientWaits: createClientWaits({
      list: (owner, limit) => openCalls.clientWaits(owner, now(), limit),
      yieldWait: (key) => runs.yieldWait(key),
      now,
    }),
    ...(isShared ? { tails: createRunTails(database) } : {}),
    admission,
    subAgents,
    attachments: createAttachments({ files: root, documents, images, uploads }),
    images,
    readTool,
    clientTools,
    schemas,
    onFault: logFault(log),
    onEnd: logEnd(log, now),
  })
  const executions = createExecutionStore(database)
  const refuse = () => admission.refuseExecution(runs.load())
  const tools = createDirectExecution({ ...runPorts, refuse, onExecuted, files, store: executions })
  const summaries = createSummaries({ ...runPorts, store: createSummaryStore(database, store), onFailure: logSummary(log) })
  jobs.handle('summary', summaryConcurrency, summaries)
  const requeue = () => void store.addMissingJobs(now()).catch((err: unknown) => log.error({ err }, 'requeue'))
  stack.adopt(setInterval(requeue, requeueEveryMs).unref(), clearInterval)
  requeue()
  const stopWork = jobs.handle('run', () => agent().config.limits.async_concurrency, runs.work)
  // The schema comes from an MCP server, and is no more trusted than a caller's.
  const checkAnswer: ApprovalsDependencies['checkAnswer'] = async (...answer) => (await schemas.faultsOf('input', ...answer))[0]
  const toRaise = createToRaise({ budgets: () => agent().config.budgets ?? [], rules: overrideRules, now })
  const approvals = createApprovals({ store: openCalls, runStore: store, runs, agent, toRaise, checkAnswer, now, newId })
  jobs.handle('approval_expiry', expiryConcurrency, async ({ tenant, data: { owner, requestId, fence } }) => {
    await runs.expire({ tenant, owner, requestId }, fence)
    return { kind: 'done' }
  })
  const drain = (ms: number) => (stopWork(), runs.drain(ms))
  // A start that fails, often for want of the database, has executed runs of earlier processes, which others are to take over.
  stack.defer(() => {
    database.postgres?.shortenRetries()
    return drain(0)
  })
  const endLostExecutions = (graceMs: number) =>
    executions.endLost({
      holder,
      graceMs,
      now: now(),
      toActs: (key, open) => open.map((call) => toUnknown({ ...runPorts, key, agent: agent() }, call)),
    })
  return {
    endLostExecutions,
    replaying: { schemas, clientTools, images, readTool, overload: load.overload, running: () => runs.running() },
    services: { runs: { ...runs, drain }, runStore: store, tools, subAgents, approvals, openCalls, schemas },
  }
}
