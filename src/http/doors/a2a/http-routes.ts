import type { FastifyInstance, RouteShorthandOptions } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/operations.ts'
import type { HttpOperation } from './http-endpoint.ts'
import { a2aType } from './google-status.ts'
import type { A2aServices } from './requests.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal } from '../../server/connection.ts'
import { A2aHeaders } from './routes.ts'
import { named } from '../../openapi/named.ts'

const Json = Type.Record(Type.String(), Type.Unknown())

/** An error of the binding; also documents its routes. */
export const A2aError = named(
  'A2aError',
  Type.Object(
    {
      error: Type.Object({
        code: Type.Integer({ description: 'The HTTP status.' }),
        status: Type.String({ description: 'The name of a gRPC status.' }),
        message: Type.String(),
        details: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
          description: 'A `google.rpc.ErrorInfo` with the `reason`, and for a request that is not valid a `google.rpc.BadRequest`.',
        }),
      }),
    },
    { description: 'An error: `google.rpc.Status`.' },
  ),
)

const error = (description: string) => ({
  description,
  content: { [a2aType]: { schema: A2aError }, 'application/json': { schema: A2aError } },
})

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

const answer = { 200: { description: 'Success.', content: { [a2aType]: { schema: Json }, 'application/json': { schema: Json } } } }
const stream = {
  200: { description: 'Server-sent events with a `StreamResponse` in each `data`.', content: { 'text/event-stream': { schema: Json } } },
}

const body = (description: string) => {
  const schema = Type.Object({}, { description, additionalProperties: true })
  return { body: { content: { 'application/json': { schema }, [a2aType]: { schema } } } }
}

const id = Type.String({ description: 'The id of a task: the request id of its run.' })
const Task = Type.Object({ id })
const Config = Type.Object({ id, configId: Type.String({ description: 'The id of a push notification config.' }) })
const text = (description: string) => Type.Optional(Type.String({ description }))
const historyLength = text('The largest number of messages in `history`; 0 for none.')
const pageSize = text('The largest number of elements, 1 to 100; default 50.')
const pageToken = text('The `nextPageToken` of the page before.')
const TaskList = Type.Object({
  contextId: text('Only tasks of this context.'),
  status: text('Only tasks in this state, such as `TASK_STATE_COMPLETED`.'),
  statusTimestampAfter: text('Only tasks whose status changed at this time or later.'),
  includeArtifacts: text('`true` for tasks with their artifacts.'),
  historyLength,
  pageSize,
  pageToken,
})

function operationIdOf(operation: HttpOperation, method: string): string {
  const name = `a2a${operation[0]!.toUpperCase()}${operation.slice(1)}`
  return operation === 'subscribe' && method === 'get' ? `${name}ByGet` : name
}

/** The HTTP+JSON binding of A2A 1.0, beside the JSON-RPC binding at `/a2a`. Both have the same operations. */
export function a2aHttpRoutes(app: FastifyInstance, services: A2aServices): void {
  type Access = NonNullable<NonNullable<RouteShorthandOptions['config']>['access']>
  type Method = 'get' | 'post' | 'delete'

  function add(operation: HttpOperation, [method, path, access]: [Method, string, Access], summary: string, schema: object): void {
    app.route({
      method: method.toUpperCase(),
      url: `/a2a/v1${path}`,
      config: { access, errorShape: 'a2a' },
      schema: { tags: ['Protocols'], operationId: operationIdOf(operation, method), summary, headers: A2aHeaders, ...schema },
      handler: async (request, reply) => {
        const { answerHttp } = await import('./http-endpoint.ts')
        return answerHttp(services, { principal: principalOf(request), request, disconnected: disconnectSignal(reply) }, reply, operation)
      },
    })
  }

  const { chat, readRun, cancelRun, changeNotifications } = accessTo
  // The router ends a parameter before a colon only where the parameter has an expression.
  const task = '/tasks/:id(.+)'
  const configs = '/tasks/:id/pushNotificationConfigs'
  const message = body('A `SendMessageRequest`: `message`, and optionally `configuration` and `metadata`.')
  const read = { ...answer, ...notFound, ...errors }
  add('sendMessage', ['post', '/message::send', chat], 'Send a message (A2A)', { ...message, response: { ...read, ...bodyErrors } })
  add('sendMessageStream', ['post', '/message::stream', chat], 'Send a message and stream the task (A2A)', {
    ...message,
    response: { ...stream, ...notFound, ...errors, ...bodyErrors },
  })
  add('listTasks', ['get', '/tasks', readRun], 'List tasks, last changed first (A2A)', {
    querystring: TaskList,
    response: { ...answer, ...errors },
  })
  const OneTask = Type.Object({ historyLength })
  add('getTask', ['get', '/tasks/:id', readRun], 'Get a task (A2A)', { params: Task, querystring: OneTask, response: read })
  add('cancelTask', ['post', `${task}::cancel`, cancelRun], 'Cancel a task (A2A)', { params: Task, response: { ...read, ...bodyErrors } })
  const subscription = { params: Task, response: { ...stream, ...notFound, ...errors } }
  // The specification names both methods: its table POST, its protocol buffer GET.
  add('subscribe', ['post', `${task}::subscribe`, readRun], 'Follow a task (A2A)', {
    params: Task,
    response: { ...subscription.response, ...bodyErrors },
  })
  add('subscribe', ['get', `${task}::subscribe`, readRun], 'Follow a task, with GET (A2A)', subscription)
  add('createPushConfig', ['post', configs, changeNotifications], 'Add a push notification config to a task (A2A)', {
    params: Task,
    ...body('A `TaskPushNotificationConfig`: `url`, and optionally `id`, `token` and `authentication`.'),
    response: { ...read, ...bodyErrors },
  })
  const Page = Type.Object({ pageSize, pageToken })
  add('listPushConfigs', ['get', configs, readRun], 'List the push notification configs of a task (A2A)', {
    params: Task,
    querystring: Page,
    response: read,
  })
  add('getPushConfig', ['get', `${configs}/:configId`, readRun], 'Get a push notification config (A2A)', { params: Config, response: read })
  add('deletePushConfig', ['delete', `${configs}/:configId`, changeNotifications], 'Delete a push notification config (A2A)', {
    params: Config,
    response: { 204: { type: 'null', description: 'Deleted, or deleted before.' }, ...notFound, ...errors, ...bodyErrors },
  })
  add('getExtendedCard', ['get', '/extendedAgentCard', 'any_key'], 'The agent card for the caller (A2A)', {
    response: { ...answer, ...errors },
  })
}
