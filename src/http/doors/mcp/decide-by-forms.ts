import type { PendingCall } from '../../../agent/approval.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { Runs } from '../../../runs/runs.ts'
import { followRun, type McpCall } from './call.ts'
import type { FormAnswers } from './form-answers.ts'
import { toForm, toFormId } from './forms.ts'
import { relatedTask } from './task-view.ts'

interface FormServices {
  runs: Pick<Runs, 'follow'>
  forms: Pick<FormAnswers, 'waitFor'>
}

interface WaitingRun {
  run: OpenRun
  pending: readonly PendingCall[]
}

/**
 * Puts the pending calls to the user of a legacy client, as requests on the stream, and waits until the run is resumed, by the answers or
 * elsewhere. Undefined if the user dismisses a form or the client disconnects: the run goes on waiting.
 */
export async function decideByForms(services: FormServices, call: McpCall, { run, pending }: WaitingRun): Promise<OpenRun | undefined> {
  const { principal } = call.caller
  const { dismissed, release } = services.forms.waitFor(
    principal,
    run.requestId,
    pending.map(({ callId }) => callId),
  )
  const stopped = AbortSignal.any([call.disconnected, dismissed])
  try {
    for (const waiting of pending) {
      const id = toFormId(run.requestId, waiting.callId)
      const meta = call.isTask ? { _meta: relatedTask(run.requestId) } : {}
      await call.send({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { ...toForm(waiting), ...meta } })
    }
    // The stored run can be opened only after the process has released the interrupted run.
    await run.ended
    const interrupted = await followRun(services, call, run.requestId)
    return interrupted.whenResumed ? await interrupted.whenResumed(stopped) : interrupted
  } catch (error) {
    if (stopped.aborted) return undefined
    throw error
  } finally {
    release()
  }
}
