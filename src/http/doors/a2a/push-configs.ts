import { randomUUIDv7 } from 'node:crypto'
import { type TaskPushNotificationConfig, A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { accessTo, permits, requireAccess, type Principal } from '../../../access/permissions.ts'
import type { Artifacts } from '../../../artifacts/artifacts.ts'
import type { ApprovalStore } from '../../../runs/approvals/approval-store.ts'
import { withoutUser } from '../../../runs/callbacks/callbacks.ts'
import type { NotificationBody, NotificationStore } from '../../../runs/callbacks/notifications.ts'
import type { NotificationConfig, StoredRun } from '../../../runs/run-store.ts'
import type { RunKey } from '../../../runs/run.ts'
import { isId } from '../../server/request-headers.ts'
import { readTask } from './tasks.ts'

/** Most push notification configs of a task. */
export const maxConfigs = 10
const maxUrlCharacters = 2048
const maxSecretCharacters = 4096

export interface PushServices {
  notifications: NotificationStore
  /** The reason not to call an address, as a message for the caller; undefined for a permitted address. */
  refusalOf(url: string): Promise<string | undefined>
}

interface PushOptions extends PushServices {
  principal: Principal
  /** Whether the caller speaks A2A 0.3. */
  isLegacy: boolean
  /** Finds a task of the caller. Throws `TaskNotFoundError`. */
  find(id: string): Promise<StoredRun>
}

type PushMethods = Pick<
  A2ARequestHandler,
  | 'createTaskPushNotificationConfig'
  | 'getTaskPushNotificationConfig'
  | 'listTaskPushNotificationConfigs'
  | 'deleteTaskPushNotificationConfig'
>

/** The methods for push notification configs. Answers leave out the secrets of the receiver. */
export function createPushMethods({ notifications, refusalOf, principal, isLegacy, find }: PushOptions): PushMethods {
  async function findKey(taskId: string): Promise<RunKey> {
    const { tenant, owner, requestId } = await find(taskId)
    return { tenant, owner, requestId }
  }

  return {
    async createTaskPushNotificationConfig(request) {
      requireAccess(principal, accessTo.changeNotifications)
      const key = await findKey(request.taskId)
      const config = await toConfig(request, { principal, refusalOf, isLegacy })
      await notifications.add(key, config, { max: maxConfigs, now: Date.now() })
      return toView(key, config)
    },
    async getTaskPushNotificationConfig({ taskId, id }) {
      requireAccess(principal, accessTo.readRun)
      const key = await findKey(taskId)
      const config = isId(id) ? await notifications.find(key, id) : undefined
      if (!config) throw new TaskNotFoundError(`There is no push notification config ${id} of task ${taskId}.`)
      return toView(key, config)
    },
    async listTaskPushNotificationConfigs({ taskId, pageSize, pageToken }) {
      requireAccess(principal, accessTo.readRun)
      if (!Number.isInteger(pageSize) || pageSize < 0)
        throw new RequestMalformedError('pageSize must be a whole number that is not negative.')
      const key = await findKey(taskId)
      const later = (await notifications.list(key)).filter(({ id }) => id > pageToken)
      const page = later.slice(0, pageSize || maxConfigs)
      const nextPageToken = later.length > page.length ? page.at(-1)!.id : ''
      return { configs: page.map((config) => toView(key, config)), nextPageToken }
    },
    async deleteTaskPushNotificationConfig({ taskId, id }) {
      requireAccess(principal, accessTo.changeNotifications)
      const key = await findKey(taskId)
      if (isId(id)) await notifications.remove(key, id)
    },
  }
}

/** Checks a config of a request. Throws `RequestMalformedError` with the field at fault. */
export async function toConfig(
  { id, url, token, authentication }: TaskPushNotificationConfig,
  { principal, refusalOf, isLegacy }: Pick<PushOptions, 'principal' | 'refusalOf' | 'isLegacy'>,
): Promise<NotificationConfig> {
  if (id !== '' && !isId(id)) throw new RequestMalformedError('id of a push notification config is not a valid id.')
  const refusal = url.length > maxUrlCharacters ? `must have at most ${maxUrlCharacters} characters` : await refusalOf(url)
  if (refusal !== undefined) throw new RequestMalformedError(`url of a push notification config: ${refusal}.`)
  checkSecret('token', token)
  if (authentication && !schemeName.test(authentication.scheme))
    throw new RequestMalformedError('authentication.scheme must be the name of an HTTP authentication scheme, such as Bearer.')
  checkSecret('authentication.credentials', authentication?.credentials ?? '')
  return {
    id: id || randomUUIDv7(),
    url,
    ...(token === '' ? {} : { token }),
    ...(authentication ? { authentication: { scheme: authentication.scheme, credentials: authentication.credentials } } : {}),
    ...(isLegacy ? { isLegacy } : {}),
    links: permits(principal, accessTo.linkArtifact),
  }
}

/** A token of RFC 9110, 5.6.2. */
const schemeName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/

/** Text that fits into a header. */
const visibleText = /^[\x20-\x7e]*$/

function checkSecret(field: string, value: string): void {
  if (value.length > maxSecretCharacters || !visibleText.test(value))
    throw new RequestMalformedError(`${field} must have at most ${maxSecretCharacters} visible ASCII characters.`)
}

/** A config as its owner sees it: without the token, the credentials, and a user and password in the URL. */
function toView({ requestId }: RunKey, { id, url, authentication }: NotificationConfig): TaskPushNotificationConfig {
  const scheme = authentication && { scheme: authentication.scheme, credentials: '' }
  return { tenant: '', id, taskId: requestId, url: withoutUser(url), token: '', authentication: scheme }
}

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
