import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { RunStore } from '../../../runs/run-store.ts'
import { messageLimits, type SentMessage } from '../../../runs/steering/run-messages.ts'
import { findReadable, ownRunKey, runParams } from '../../named-runs.ts'
import { closed, Id, maybe, namedObject, orNull, replies, route } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'

interface MessageServices {
  runs: Pick<Runs, 'steer'>
  runStore: Pick<RunStore, 'find' | 'messagesTo'>
}

const Mode = Type.Enum(['steer', 'follow_up'], {
  description:
    '`steer`: the run reads the message before its next model call. `follow_up`: a run of its own answers the message afterwards.',
})

const message = {
  message: Type.String({ minLength: 1, maxLength: messageLimits.characters, pattern: '\\S', description: 'The text of a person.' }),
}

const MessageBody = closed({ ...message, mode: maybe(Mode, 'Default: `steer`.') })

export const AcceptedMessage = namedObject('AcceptedMessage', {
  message_id: Type.String({
    description: 'The `request-id` of this request. The request id of the run that answers the message, where that is another run.',
  }),
  position: Type.Integer({ minimum: 1, description: 'The number of the message in the run.' }),
})

export const RunMessages = namedObject('RunMessages', {
  messages: Type.Array(
    Type.Object({
      ...AcceptedMessage.properties,
      mode: Mode,
      ...message,
      created_at: Type.String({ format: 'date-time' }),
      delivered_at: orNull(Type.String({ format: 'date-time' }), 'When a run took the message up; null while the message waits.'),
      delivered_to: Type.String({ description: 'The run that reads the message: another one where this run ended before.' }),
    }),
  ),
})

/** Routes of messages to a run that goes on. */
export function messageRoutes(app: App, { runs, runStore }: MessageServices): void {
  app.post(
    '/core/v1/runs/:request_id/messages',
    route(accessTo.chat, 'Runs', {
      summary: 'Send a message to a run while it works',
      text: `Steers a run: the message is stored, and the run reads it before its next model call, after the results of open tool calls. A run that has just written its answer goes on. 202 means that the message is stored: it survives crashes and is delivered once.

A run that waits for a decision reads the message afterwards. A message that the run does not read, whatever its end, begins the next run of the session: an asynchronous run with the \`message_id\` as its request id. \`mode: follow_up\` chooses this.

Only the owner of a run may send messages. Send a \`request-id\` of your own to repeat a request safely. Readers of the run get the chunk \`user_message\` when the message arrives.

- 409 \`RunEnded\`: send the message as a new chat. \`RequestIdReused\`: the request id belongs to another request.
- 429 \`RateLimited\`: ${messageLimits.open} messages wait for this run.`,
      examples: {
        steer: { summary: 'Change the direction', value: { message: 'Only the North region, please.' } },
        'follow-up': { summary: 'Ask afterwards', value: { message: 'And the year before?', mode: 'follow_up' } },
      },
      params: runParams,
      headers: Type.Object({ 'request-id': Type.Optional(Id) }),
      body: MessageBody,
      response: replies({ 202: AcceptedMessage }, 404, 409, 410, 422),
    }),
    async (request, reply) => {
      const key = ownRunKey(principalOf(request), request.params.request_id)
      const { message: text, mode } = request.body
      const { position } = await runs.steer(key, { id: request.id, mode: mode ?? 'steer', text })
      return reply.code(202).send({ message_id: request.id, position })
    },
  )

  app.get(
    '/core/v1/runs/:request_id/messages',
    route(accessTo.readRun, 'Runs', {
      summary: 'List the messages that were sent to a run',
      text: 'The messages of `POST /core/v1/runs/{request_id}/messages` in order, those that wait and those that were delivered. Only the owner of the run may read them.',
      params: runParams,
      response: replies({ 200: RunMessages }, 404, 410, 422),
    }),
    async (request) => {
      const key = ownRunKey(principalOf(request), request.params.request_id)
      await findReadable(runStore, key)
      return { messages: (await runStore.messagesTo(key)).map(toView) }
    },
  )
}

function toView({ id, position, mode, text, createdAt, deliveredAt, deliveredTo }: SentMessage) {
  return {
    message_id: id,
    position,
    mode,
    message: text,
    created_at: new Date(createdAt).toISOString(),
    delivered_at: deliveredAt === undefined ? null : new Date(deliveredAt).toISOString(),
    delivered_to: deliveredTo,
  }
}
