import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import { Type, type TObject } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import { namedObject, type OperationText } from '../../schemas/shared.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal } from '../../reader.ts'
import { a2aType, googleErrors } from './google-status.ts'
import { A2aHeaders } from './routes.ts'
import type { A2aServices } from './task-runs.ts'

/** The HTTP+JSON binding of A2A 1.0, beside the JSON-RPC binding at `/a2a`. Both have the same operations. */

type Access = NonNullable<NonNullable<RouteShorthandOptions['config']>['access']>

interface HttpInput {
  /** Describes the body, which is the request. Without it, the query is. */
  body?: string
  querystring?: TObject
}

/** An operation: its name in the OpenAPI document, behind `a2a`, its route, and the method of the handler that both bindings share. */
type HttpOperation = [
  name: keyof typeof a2aDetails,
  route: string,
  access: Access,
  method: keyof A2ARequestHandler,
  summary: string,
  input?: HttpInput,
]

const { chat, readRun, cancelRun, changeNotifications: change } = accessTo
// The router ends a parameter before a colon only where the parameter has an expression.
const task = '/tasks/:id(.+)'
const configs = '/tasks/:id/pushNotificationConfigs'
const text = (description: string) => Type.Optional(Type.String({ description }))
const historyLength = text('The largest number of messages in `history`; 0 for none.')
const pageSize = text('The largest number of elements, 1 to 100; default 50.')
const pageToken = text('The `nextPageToken` of the page before.')
const list = Type.Object({
  contextId: text('Only tasks of this context.'),
  status: text('Only tasks in this state, such as `TASK_STATE_COMPLETED`.'),
  statusTimestampAfter: text('Only tasks whose status changed at this time or later.'),
  includeArtifacts: text('`true` for tasks with their artifacts.'),
  historyLength,
  pageSize,
  pageToken,
})

const message = { body: 'A `SendMessageRequest`: `message`, and optionally `configuration` and `metadata`.' }
const config = { body: 'A `TaskPushNotificationConfig`: `url`, and optionally `id`, `token` and `authentication`.' }
const oneTask = { querystring: Type.Object({ historyLength }) }
const page = { querystring: Type.Object({ pageSize, pageToken }) }

const operations: readonly HttpOperation[] = [
  ['SendMessage', 'POST /message::send', chat, 'sendMessage', 'Send a message', message],
  ['SendMessageStream', 'POST /message::stream', chat, 'sendMessageStream', 'Send a message and stream the task', message],
  ['ListTasks', 'GET /tasks', readRun, 'listTasks', 'List tasks, last changed first', { querystring: list }],
  ['GetTask', 'GET /tasks/:id', readRun, 'getTask', 'Get a task', oneTask],
  ['CancelTask', `POST ${task}::cancel`, cancelRun, 'cancelTask', 'Cancel a task'],
  // The specification names both methods: its table POST, its protocol buffer GET.
  ['Subscribe', `POST ${task}::subscribe`, readRun, 'resubscribe', 'Follow a task'],
  ['SubscribeByGet', `GET ${task}::subscribe`, readRun, 'resubscribe', 'Follow a task, with GET'],
  ['CreatePushConfig', `POST ${configs}`, change, 'createTaskPushNotificationConfig', 'Add a push notification config to a task', config],
  ['ListPushConfigs', `GET ${configs}`, readRun, 'listTaskPushNotificationConfigs', 'List the push notification configs of a task', page],
  ['GetPushConfig', `GET ${configs}/:configId`, readRun, 'getTaskPushNotificationConfig', 'Get a push notification config'],
  ['DeletePushConfig', `DELETE ${configs}/:configId`, change, 'deleteTaskPushNotificationConfig', 'Delete a push notification config'],
  ['GetExtendedCard', 'GET /extendedAgentCard', 'any_key', 'getAuthenticatedExtendedAgentCard', 'The agent card for the caller'],
]

export function a2aHttpRoutes(app: FastifyInstance, services: A2aServices): void {
  for (const operation of operations) {
    const [, route, access, method, , input] = operation
    const [verb, path] = route.split(' ') as [string, string]
    app.route({
      method: verb,
      url: `/a2a/v1${path}`,
      config: { access, errorShape: googleErrors, bodyTypes: { [a2aType]: 'json' }, ...(input === message && { maxBodyBytes: Infinity }) },
      schema: toSchema(operation),
      handler: async (request, reply) => {
        const { answerHttp } = await import('./endpoint.ts')
        const caller = { principal: principalOf(request), request, disconnected: disconnectSignal(reply) }
        return answerHttp(services, caller, reply, { method, hasBody: input?.body !== undefined, isStream: isStreamed(route) })
      },
    })
  }
}

/** Whether an operation is answered with a stream. */
function isStreamed(route: string): boolean {
  return route.endsWith('::stream') || route.endsWith('::subscribe')
}

function toSchema([name, route, , , summary, { body, querystring } = {}]: HttpOperation): object {
  const params = route.includes(':configId') ? ConfigPath : route.includes(':id') ? TaskPath : undefined
  return {
    tags: ['Protocols'],
    operationId: `a2a${name}`,
    summary: `${summary} (A2A)`,
    ...a2aDetails[name],
    headers: A2aHeaders,
    ...(params && { params }),
    ...(querystring && { querystring }),
    ...(body !== undefined && { body: toBody(body) }),
    response: {
      ...(route.startsWith('DELETE') ? deleted : isStreamed(route) ? streamed : answered),
      ...((params ?? body) !== undefined && notFound),
      ...errors,
      ...(!route.startsWith('GET') && bodyErrors),
    },
  }
}

const id = Type.String({ description: 'The id of a task: the request id of its run.' })
const TaskPath = Type.Object({ id })
const ConfigPath = Type.Object({ id, configId: Type.String({ description: 'The id of a push notification config.' }) })

const Json = Type.Record(Type.String(), Type.Unknown())
const toContent = (schema: object) => ({ [a2aType]: { schema }, 'application/json': { schema } })
const deleted = { 204: { type: 'null', description: 'Deleted, or deleted before.' } }
const answered = { 200: { description: 'Success.', content: toContent(Json) } }
const streamed = {
  200: { description: 'Server-sent events with a `StreamResponse` in each `data`.', content: { 'text/event-stream': { schema: Json } } },
}

function toBody(description: string): object {
  const schema = Type.Object({}, { description, additionalProperties: true })
  return { content: { 'application/json': { schema }, [a2aType]: { schema } } }
}

/** An error of the binding; also documents its routes. */
const A2aError = namedObject('A2aError', 'An error: `google.rpc.Status`.', {
  error: Type.Object({
    code: Type.Integer({ description: 'The HTTP status.' }),
    status: Type.String({ description: 'The name of a gRPC status.' }),
    message: Type.String(),
    details: Type.Array(Json, {
      description: 'A `google.rpc.ErrorInfo` with the `reason`, and for a request that is not valid a `google.rpc.BadRequest`.',
    }),
  }),
})

const error = (description: string) => ({ description, content: toContent(A2aError) })
const errors = {
  400: error('The request is not valid, or the task does not permit the operation.'),
  401: error('The key is missing or not valid.'),
  403: error('The key lacks the permission.'),
  429: error('The key has made too many requests.'),
  500: error('Internal error.'),
  503: error('The service cannot do this now; try again later.'),
}
const bodyErrors = { 413: error('The request is larger than this service accepts.'), 415: error('The content type must be JSON.') }
const notFound = { 404: error('There is no such task or config.') }

const shared = { parameters: { 'a2a-version': '1.0' }, prefilled: ['a2a-version'] }

const examples = (summary: string, value: unknown) => ({ examples: { message: { summary, value } } })

const describe = (text: string, more: OperationText = {}): OperationText => ({ text, ...shared, ...more })

const exampleMessage = (text: string) => ({ message: { messageId: 'example-1', role: 'ROLE_USER', parts: [{ text }] } })

const exampleConfig = {
  id: 'example',
  url: 'https://hooks.example.com/results',
  token: 'a text that the receiver knows',
  authentication: { scheme: 'Bearer', credentials: 'a credential of the receiver' },
}

/** Texts of the HTTP+JSON binding of A2A, by the name of the operation. */
const a2aDetails = {
  SendMessage: describe(
    'Starts a task and answers with it when it has ended or waits for the caller; with `configuration.returnImmediately` at once. A message with `taskId` answers a task that waits. `configuration.taskPushNotificationConfig` names an address that is notified when the task waits and when it has ended. 400 with the reason `CONTENT_TYPE_NOT_SUPPORTED`: a part is neither text nor a file that the service can read.',
    examples('A question', exampleMessage('What were the total sales by region?')),
  ),
  SendMessageStream: describe(
    'Like `message:send`, with the task, its steps, the growing answer and its end as server-sent events. A task goes on after its client has left.',
    examples('A question', exampleMessage('What is 17 * 23?')),
  ),
  ListTasks: describe(
    "The caller's own tasks, each a run of any protocol. `totalSize` counts at most 10,000. `artifacts` are left out unless they are requested.",
    {
      parameters: {
        ...shared.parameters,
        contextId: 'my-first-chat',
        status: 'TASK_STATE_COMPLETED',
        statusTimestampAfter: '2026-11-22T08:00:00Z',
        includeArtifacts: 'true',
      },
    },
  ),
  GetTask: describe(
    'The current state of a task, with its question, its answer and its files. A link to a file is valid for a short time.',
  ),
  CancelTask: describe('Ends a task. 400 with the reason `TASK_NOT_CANCELABLE`: it has ended already.'),
  Subscribe: describe(
    'Begins with the current task and sends its updates until it has ended, also while it waits for the caller. 400 with the reason `UNSUPPORTED_OPERATION`: the task has ended.',
  ),
  SubscribeByGet: describe('The same as with POST.'),
  CreatePushConfig: describe(
    'The address is notified when the task waits for the caller and when it has ended; at once if that is so already. A config with the same `id` is replaced. Each notification is the current task as a `StreamResponse`, with the `authentication` and the `token` of the config and a signature like that of callbacks. Answers never show the secrets. A task has at most 10 configs.',
    examples('An address', exampleConfig),
  ),
  ListPushConfigs: describe('In the order of their ids, without their secrets.'),
  GetPushConfig: describe('Without its secrets.'),
  DeletePushConfig: describe('No further notification is sent. Deleting a config again is a success.'),
  GetExtendedCard: describe(
    'The card with what the key may use: descriptions of the tools with the permission `tools.read`, own sub-agents with `sub_agents.read`.',
  ),
} satisfies Record<string, OperationText>
