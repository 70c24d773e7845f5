import { A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import type { NotificationBody } from '../../../runs/notifications/notifications.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import { readTask } from './tasks.ts'

interface NotificationOptions extends Pick<Artifacts, 'toAnswerFiles'> {
  openCalls: Pick<ApprovalStore, 'ofRun'>
  /** Whether files of the task are linked. */
  links: boolean
  /** Whether the receiver expects the form of A2A 0.3. */
  isLegacy?: boolean
}

/** The content of a push notification: the current task, as a stream response (A2A 1.0, 4.3.3). */
export async function toNotificationBody(
  run: StoredRun,
  { openCalls, links, isLegacy, toAnswerFiles }: NotificationOptions,
): Promise<NotificationBody> {
  const task = await readTask(run, { links: links ? { toAnswerFiles } : undefined, openCalls })
  const response: StreamResponse = { payload: { $case: 'task', value: task } }
  if (!isLegacy) return { contentType: A2A_CONTENT_TYPE, text: JSON.stringify(StreamResponse.toJSON(response)) }
  const { V03PushNotificationSerializer } = await import('@a2a-js/sdk/compat/v0_3/server')
  const { contentType, body: text } = new V03PushNotificationSerializer().serialize(response)
  return { contentType, text }
}
