import { ModelError } from '../../agent/model.ts'
import { runAgent } from '../../agent/loop.ts'
import { callsWithoutResult } from '../../agent/history.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import { schemaMismatch } from './answer-schema.ts'
import { interrupt } from './interrupt.ts'
import { keepEvent } from './keep-event.ts'
import type { RunPorts } from './ports.ts'
import { emptyProgress } from './progress.ts'
import { finish } from './finish.ts'
import { checkHints } from '../intake/checks.ts'
import { maxLosses, processLost } from '../log/outcome.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { FenceLost, type NextRun, type Turn } from '../run-store.ts'
import { reachState } from '../../states.ts'
import { agentOptions, reasonOfStop } from './agent-options.ts'
import { loadProgress, addMemories } from './load-progress.ts'

/**
 * Executes the agent for a run that has its session, and stores the end or the interruption. Resolves to the next run in the session queue.
 * Throws only where the end could not be stored; the readers have not received an end then.
 */
export async function execute(run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const leftMs = Math.max(0, run.agent.config.max_execution_time * 1000 - run.ranMs)
  const deadline = setTimeout(() => run.stop('timeout'), leftMs)
  const progress = emptyProgress(turn)
  const begunAt = deps.now()
  deps.observer?.started(run)
  let error: ErrorBody | undefined
  try {
    await requireTools(run)
    // Memories are read in parallel with the history. Most callers have no memories and do not wait.
    const recalling = deps.recall(run)
    const [, subAgents] = await Promise.all([
      loadProgress(run, progress, deps),
      run.times.during('store', () => deps.subAgents.listForRun(run.key)),
    ])
    recordHolder(run, turn, begunAt, deps)
    if (recalling) addMemories(progress, await run.times.during('store', () => recalling))
    const outcome = await runAgent(agentOptions(run, progress, subAgents, deps), (event) =>
      run.storing ? run.storing.then(() => keepEvent(event, run, progress, deps)) : keepEvent(event, run, progress, deps),
    )
    if (run.stopCause === 'handed_over') throw new Error('The run was handed over.')
    if (outcome.type === 'end') progress.end = outcome
    else if (run.signal.aborted) {
      reachState('interruption-with-stop')
      progress.end = { reason: reasonOfStop(run) }
    } else {
      await interrupt(run, progress, outcome.calls, deps)
      return undefined
    }
    if (progress.end.mismatch) error = toErrorBody(schemaMismatch(progress.end.mismatch))
  } catch (thrown) {
    // A handed over run gets no end here: another process resumes the run.
    if (thrown instanceof FenceLost || run.stopCause === 'handed_over' || run.stopCause === 'unstored') throw thrown
    if (!(thrown instanceof ModelError || thrown instanceof ServiceError)) deps.onFault(run, thrown)
    error = toErrorBody(toServiceError(thrown))
  } finally {
    clearTimeout(deadline)
  }
  // The model may fail, or the run be stopped, while the begin is still on its way to the disk.
  if (run.storing) await run.storing
  return finish(run, progress, error, deps)
}

/** Records that this process executes the run, and that a run which has moved has waited for its client to connect again. */
function recordHolder(run: LiveRun, { windowStart }: Turn, begunAt: number, { holder }: RunPorts): void {
  const { trace, fence, startedAt = begunAt, isQueued, moved } = run
  const window = windowStart > 0 ? { window: windowStart } : {}
  trace.hold({ at: startedAt, holder, fence, ...(isQueued ? { isQueued } : {}), ...moved, ...window })
  if (moved.cause && begunAt - startedAt >= shortestWaitMs) trace.waited(startedAt, begunAt)
}

/** Less time passes between the takeover of a run and its execution without a wait. */
const shortestWaitMs = 20

/**
 * A resumed run may begin before its process has built the tools, and an approved call must find its tool. The hints are checked again: the
 * tools may have changed since the begin of the run.
 */
async function requireTools({ request, agent }: LiveRun): Promise<void> {
  const settling = agent.tools.settling()
  if (settling) await settling
  if (request.filters.length > 0) checkHints(request.filters, agent.tools)
}

/** The end of a run without further execution. `orphaned`: the process died and the client did not reconnect. `cancelled`: during an interruption. */
export type Ending = 'orphaned' | 'cancelled'

/** Ends a run without further execution. The progress is kept; a repeat of an orphaned run continues from there. */
export async function endAs(ending: Ending, run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const progress = emptyProgress(turn)
  // Reading the checkpoints of the run may have killed the processes.
  if (run.losses > maxLosses) progress.checkpoints = 1
  else await loadProgress(run, progress, deps, { asksModel: false })
  if (ending === 'orphaned') {
    reachState('orphan-without-reader')
    const error = processLost(run.losses)
    if (run.losses >= maxLosses) deps.onFault(run, error)
    return finish(run, progress, toErrorBody(error), deps)
  }
  progress.end = { reason: 'cancelled' }
  const cancelledCalls = callsWithoutResult(progress.messages)
  for (const { id, name, approval } of cancelledCalls) {
    const text = approval === 'client' ? cancelledBeforeAnswer : cancelledWaiting
    progress.messages.push({ role: 'tool', callId: id, name, text, isError: true })
  }
  return finish(run, progress, undefined, deps)
}

/** Result texts of cancelled calls, for the model in later turns of the session. */
const cancelledBeforeAnswer = 'The request was cancelled before the client sent the output of this call.'
const cancelledWaiting = 'The request was cancelled while this waited for approval: what was not approved was not done.'

function toServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof ModelError)) return thrown
  return new ServiceError('model_unavailable', `No model could answer: ${thrown.message}`, { cause: thrown })
}
