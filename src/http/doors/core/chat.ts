import { replies, route, IdHeaders } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { ProgressEvent } from '../../../agent/events.ts'
import type { App } from '../../server/app.ts'
import { sendFailure } from '../../server/error-reply.ts'
import { openChat, whenBusy, type ChatServices } from './open-chat.ts'
import { outcomeOf } from '../../reader.ts'
import { toWaitingFields, interruptReason } from '../../../runs/approvals/approval-view.ts'
import { lastEventHeader, lastReceivedOf, nameRepeatedRequest, sendRun, toStream, type Projection, type RunStream } from '../../send-run.ts'
import { eventStream, ClientToolAnswer, ChatBody, ChainAnswer, SteeredChat, ApprovalAnswer, BudgetAnswer } from '../../schemas/chat.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { toAnswerStep } from '../../../runs/log/outcome.ts'
import type { LastEvent, LoggedEvent } from '../../../runs/run.ts'
import { toCitationContext } from '../../../sessions/message.ts'

const question = 'What were the total sales by region?'
const messages = [{ role: 'user', content: question }]
const chats = {
  question: { summary: 'A question', value: { messages } },
  'context-file': {
    summary: 'A question about a file of the agent',
    value: { messages: [{ role: 'user', content: 'How many days of annual leave do I have?' }], context_files: ['handbook/leave.md'] },
  },
  'client-tool': {
    summary: 'A question, with a tool that the client runs',
    value: {
      messages: [{ role: 'user', content: 'What is 2 + 2?' }],
      client_tools: [
        {
          name: 'get_place',
          description: 'The place of the device.',
          schema: { type: 'object', properties: { precision: { type: 'integer' } }, required: ['precision'] },
        },
      ],
    },
  },
  structured: {
    summary: 'A question whose answer is JSON that fits a schema',
    value: {
      messages: [{ role: 'user', content: 'What is 17% of 2,340?' }],
      response_schema: { type: 'object', properties: { result: { type: 'number' } }, required: ['result'] },
    },
  },
  'data-filter': {
    summary: 'A question that may read a part of the data only',
    value: {
      messages,
      data_filter_hints: [{ tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }],
    },
  },
}
const chatErrors = `
- 400 \`InvalidInput\`: a context file or an image cannot be used.
- 409 \`SessionBusy\`: the session answered another question for longer than \`limits.max_session_wait\` (30 s). \`SessionInterrupted\`: the session waits for an approval or for its client. \`RequestIdReused\`: the request id belongs to another request. \`Cancelled\`: somebody cancelled the run.
- 410 \`Gone\`: the session, or the run of this request id, was deleted.
- 502 \`ModelUnavailable\`: no model could answer, fallbacks included. \`SchemaMismatch\`: no answer fits the schema; \`details.output\` is the last text.`

/** Chats that wait for their answer: as JSON, or as server-sent events. */
export function chatRoutes(app: App, services: ChatServices): void {
  answerRoute(app, services)
  streamRoute(app, services)
}

function answerRoute(app: App, services: ChatServices): void {
  app.post(
    '/core/v1/chain',
    route({ access: accessTo.chat, hasSession: 'body', startsRun: true, maxBodyBytes: Infinity, validationShape: 'error' }, 'Chat', {
      summary: 'Chat, with the answer as JSON',
      text: `Asks the agent and waits for its answer. Use it for scripts and short answers; where somebody watches, use \`POST /core/v1/chain_streaming\`, and for work of many minutes \`POST /core/v1/chain_async\`.

The reply names the session in the header \`session-id\`. Send this header with the next question to go on with the conversation. \`body.output\` is the answer, \`body.intermediate_steps\` are the tool calls and thoughts behind it, \`body.usage\` is what they cost.

**JSON that fits a schema.** With a \`response_schema\`, \`body.structured_output\` is the value, and \`body.output\` its JSON text. Tools are called as usual: the schema binds the final answer.

**Budgets.** Where agent.yaml has \`budgets\`, the reply header \`x-budget-remaining\` says what is left of the tightest that the key may read, such as \`usd=1.23, tokens=40000\`; a stream has it as of its start.

**Repeats.** Send a \`request-id\` of your own, and the same request again after a broken connection: the same body returns the first outcome, and no tool runs twice.

**Approvals and client tools.** 202 means that tool calls wait: those of \`approval_required\` for a decision, those of \`client_tool_calls\` for the output of tools that the client has brought as \`client_tools\`. Both are sent to \`POST /core/v1/runs/{request_id}/approvals\`.

**Errors**
${chatErrors}
- 422: the error has the shape of all other errors here, with the faults in \`details.errors\`.`,
      examples: chats,
      headers: IdHeaders,
      body: ChatBody,
      response: replies(
        {
          200: ChainAnswer,
          202: Type.Union([ApprovalAnswer, BudgetAnswer, ClientToolAnswer, SteeredChat], {
            description:
              'Tool calls wait for approval, or for the client; or a budget is used up; or the chat has become a message to a run (`on_busy: steer`).',
          }),
        },
        400,
        409,
        410,
        502,
      ),
    }),
    async (request, reply) => {
      const steered = request.body.on_busy ? await whenBusy(services, request) : undefined
      if (steered) return reply.code(202).send(steered)
      const chat = await openChat(services, { request, reply, operation: 'chain' }).chat
      const { body, end, error } = await outcomeOf(chat)
      if (error) return sendFailure(reply, error)
      if (end.type === 'end') return { body }
      return reply.code(202).send({ body, ...toWaitingFields(chat.run.requestId, end.calls) })
    },
  )
}

function streamRoute(app: App, services: ChatServices): void {
  app.post(
    '/core/v1/chain_streaming',
    {
      ...route({ access: accessTo.chat, hasSession: 'body', startsRun: true, maxBodyBytes: Infinity }, 'Chat', {
        summary: 'Chat, with the answer as server-sent events',
        text: `Asks the agent and sends the answer while it is written, as server-sent events. Each event has a \`StreamChunk\` as its \`data\`:

\`\`\`text
id: 0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11:4
data: {"id":"0199f3c2-7c1e-7d51-b0ab-3f6f1d0c8a11","token":"North","agent_step":"answer","finish_reason":"null","usage":[]}
\`\`\`

| \`agent_step\` | The \`token\` is |
|---|---|
| \`answer\` | text of the answer. The output is the \`answer\` text after the last chunk with another label |
| \`reasoning\` | a thought of the model |
| \`planning\` | text of a plan, or of one of its steps (\`workflow_type: plan_execute\`) |
| \`tool:<name>\` | empty: a tool call begins, or ends. The chunk at its end has \`step\` |
| \`sub_agent:<name>\` | empty: a task of a sub-agent begins, or ends. The chunk at its end has \`step\` |
| \`user_message\` | empty: a message of \`POST /core/v1/runs/{request_id}/messages\` has reached the run. The chunk has \`user_message\` |
| \`retrying\` | empty: the answer begins anew, because the stream of the model broke, or the answer does not fit its schema |

An event with a line \`event: progress\` tells how far a running tool is, in \`progress\`; it repeats the number of the event before, is not stored, and may be skipped.

\`finish_reason\` is the text \`"null"\` on each chunk except the last. The last chunk has an empty token, the \`usage\` of the whole run, and one of:

| \`finish_reason\` | The run |
|---|---|
| \`stop\` | is complete |
| \`length\`, \`content_filter\` | was ended by the model before its text was complete |
| \`max_iterations\`, \`timeout\` | reached \`max_iterations\` or \`max_execution_time\` of the configuration; the answer is the best so far |
| \`budget_exceeded\` | used up a budget of the configuration; the answer is the best so far |
| \`tool_calls\` | waits for the output of client tools; \`client_tool_calls\` lists the calls |
| \`approval_required\` | waits for decisions; \`approval_required\` lists the calls, \`budget_required\` names a budget that is used up |
| \`cancelled\` | was cancelled |
| \`schema_mismatch\` | has no answer that fits its schema; \`error\` says why |
| \`error\` | failed; \`error\` says why |

**A broken connection.** Read on with \`GET /core/v1/runs/{request_id}/stream\` and the header \`last-event-id\` within 5 s (\`limits.reconnect_grace\`), or repeat the same request with this header: it reads on in the same run. Later the run is cancelled, unless the request has \`"on_disconnect": "continue"\`.

**Errors** before the first event are replies with a status; later ones are the \`error\` of the last chunk. A 503 of a process that cannot send the rest of a run has the \`id\` of the chunk before: read on behind it.
${chatErrors}`,
        examples: chats,
        headers: Type.Object({ ...IdHeaders.properties, ...lastEventHeader }),
        body: ChatBody,
        response: replies(
          {
            200: eventStream,
            202: SteeredChat,
            204: Type.Null({ description: 'A repeat: the run has ended, and `last-event-id` is its last event.' }),
          },
          400,
          409,
          410,
          502,
        ),
      }),
      preValidation: (request, reply, done) => {
        nameRepeatedRequest(request, reply)
        done()
      },
    },
    async (request, reply) => {
      const steered = request.body.on_busy ? await whenBusy(services, request) : undefined
      if (steered) return reply.code(202).send(steered)
      const received = lastReceivedOf(request, request.id)
      const opening = openChat(services, { request, reply, operation: 'chain_streaming' })
      return sendRun(reply, opening, { ...received, render: () => streamChunks(request.id) })
    },
  )
}

/** A chunk of a run: `{id, token, agent_step, finish_reason, usage}`, all five fields on each. */
export interface Chunk {
  /** Number of the event. */
  number: number
  /** The number in the id of the event; default: as it is. */
  id?: string | undefined
  token: string
  agent_step: string
  /** The name of the server-sent event, for clients that read it; others skip the event. Absent: a chunk of the log. */
  event?: 'progress'
  /** The fields behind `agent_step`, where the fields differ from the fields of a token. */
  fields?: object
}

/** The fields behind `agent_step` of a chunk that is not the last one. */
const passing = { finish_reason: 'null', usage: [] }

/** A run as chunks. */
export function chunksOf(requestId: string): Projection<Chunk> {
  return new RunChunks(requestId)
}

class RunChunks implements Projection<Chunk> {
  private readonly requestId: string

  constructor(requestId: string) {
    this.requestId = requestId
  }

  take(event: LoggedEvent, number: number): Chunk[] {
    switch (event.type) {
      case 'text':
        return [{ number, token: event.text, agent_step: event.label }]
      case 'retrying':
        return [{ number, token: '', agent_step: 'retrying' }]
      case 'user_message': {
        const user_message = { message_id: event.id, position: event.position, message: event.text }
        return [{ number, token: '', agent_step: 'user_message', fields: { ...passing, user_message } }]
      }
      case 'step_start':
        return [{ number, token: '', agent_step: labelOf(event.step) }]
      case 'step_end':
        return [{ number, token: '', agent_step: labelOf(event.step), fields: { ...passing, step: toAnswerStep(event.step) } }]
      case 'interrupt':
      case 'end':
        return [{ number, token: '', agent_step: 'answer' }]
    }
  }

  last(event: LastEvent, number: number, files: readonly AnswerFile[], id?: string): Chunk[] {
    return [{ number, id, token: '', agent_step: 'answer', fields: { ...this.toFields(event), ...filesField(files) } }]
  }

  /** The number is the last one of the reader: progress has none, and `last-event-id` remains valid. */
  progress({ step, report }: ProgressEvent, number: number): Chunk[] {
    const fields = { ...passing, progress: { tool_call_id: step.id, ...report } }
    return [{ number, token: '', agent_step: labelOf(step), event: 'progress', fields }]
  }

  private toFields(event: LastEvent): object {
    if (event.type === 'interrupt')
      return { finish_reason: interruptReason(event.calls), usage: event.usage, ...toWaitingFields(this.requestId, event.calls) }
    const { reason, usage, citations, error } = event
    return { finish_reason: reason, usage, additional_context: citations && toCitationContext(citations), error }
  }
}

function labelOf({ type, tool }: { type: string; tool: string }): string {
  return type === 'tool_call' ? `tool:${tool}` : type === 'sub_agent_call' ? tool : type
}

function filesField(files: readonly AnswerFile[]): object {
  return files.length > 0 ? { generated_artifacts: files } : {}
}

/** The chunks of a run as server-sent events, whose id is the number of the event. */
export function streamChunks(requestId: string): RunStream {
  // Joined texts are flat: a template would remain a tree of strings as long as the stream is open.
  const head = ['id: ', requestId, ':'].join('')
  const data = ['\ndata: {"id":', JSON.stringify(requestId), ',"token":'].join('')
  let label: string | undefined
  let tail = ''

  return toStream(chunksOf(requestId), ({ number, id, token, agent_step: step, event, fields }) => {
    if (fields) return `${event ? `event: ${event}\n` : ''}${head}${id ?? number}${data}${JSON.stringify(token)}${tailOf(step, fields)}`
    // Most tokens have the label of the token before.
    if (step !== label) {
      label = step
      tail = tailOf(step, passing)
    }
    return `${head}${number}${data}${JSON.stringify(token)}${tail}`
  })
}

function tailOf(label: string, fields: object): string {
  return [',"agent_step":', JSON.stringify(label), ',', JSON.stringify(fields).slice(1), '\n\n'].join('')
}
