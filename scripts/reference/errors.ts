import { STATUS_CODES } from 'node:http'
import { errorTypes } from '../../src/error-types.ts'
import { ServiceError, toErrorBody, type ErrorCode } from '../../src/errors.ts'
import { statusOfModelApi } from '../../src/http/doors/model-apis/errors.ts'
import { anthropicStatus, toAnthropicError } from '../../src/http/doors/anthropic/errors.ts'
import { toOpenAiError } from '../../src/http/doors/openai/errors.ts'
import { toCode, toCodeBlock, toPage, toProse, toTable } from './markdown.ts'

const entries = Object.entries(errorTypes).toSorted(([, one], [, other]) => one.status - other.status)

/** The page of the error types, from the table of the service. */
export function errorsPage(): string {
  const head = { title: 'Errors', description: 'Every error type of the service: its HTTP status, when it happens and what to do.' }
  const statuses = [...new Set(entries.map(([, { status }]) => status))]
  return toPage(head, [introduction, ...statuses.map(toSection), openAiSection(), anthropicSection(), jsonRpcSection])
}

const example = toErrorBody(new ServiceError('forbidden', 'RBAC: access denied: this key lacks the permission chat.'))
const validationExample = { detail: [{ loc: ['body', 'messages'], msg: 'must NOT have fewer than 1 items', type: 'minItems' }] }

const introduction = `An error is answered with its HTTP status and this body. \`body\` is a sentence for people; programs read \`details.error_type\`.

${toCodeBlock('json', JSON.stringify(example))}

A request that does not have the shape of its route is answered with 422 and a list of faults, each with its place. Only
\`POST /core/v1/chain\` has this list in \`details.errors\` of the body above, instead of \`detail\`.

${toCodeBlock('json', JSON.stringify(validationExample))}

- **Retry** errors with the header \`retry-after\`, after as many seconds. With the same \`request-id\`, nothing runs twice.
- **In a stream**, an error after the first event is the last chunk, with \`finish_reason: "error"\` and the body above in \`error\`.
- **A run that failed** has the body above in \`outcome.error\` of \`GET /core/v1/runs/{request_id}\`, and in \`data.error\` of its callback.
- Every answer has the header \`request-id\`, by which the log of the service has the cause.`

function toSection(status: number): string {
  const types = entries.filter(([, type]) => type.status === status)
  const rows = types.map(([, { errorType, when, remedy }]) => [toCode(errorType), toProse(when), toProse(remedy)])
  return `## ${status} ${STATUS_CODES[status]}\n\n${toTable(['Type', 'When', 'What to do'], rows)}`
}

function openAiSection(): string {
  const rows = entries.map(([code, { status, errorType }]) => {
    const { error } = toOpenAiError(toErrorBody(new ServiceError(code as ErrorCode, '')))
    return { errorType, cells: [toCode(errorType), String(statusOfModelApi(status)), toCode(error.type), toCode(String(error.code))] }
  })
  return `## OpenAI clients

Routes under \`/v1\` answer in the shape of OpenAI's API: \`{"error": {message, type, param, code}}\`. A 422 is a 400 there.

${toTable(['Type', 'Status', 'type', 'code'], unique(rows))}`
}

interface ErrorRow {
  errorType: string
  cells: string[]
}

/** The cells of the first row of each type. */
function unique(rows: readonly ErrorRow[]): string[][] {
  return rows.filter(({ errorType }, index) => rows.findIndex((row) => row.errorType === errorType) === index).map(({ cells }) => cells)
}

function anthropicSection(): string {
  const rows = entries.map(([code, { errorType }]) => {
    const body = toErrorBody(new ServiceError(code as ErrorCode, ''))
    return { errorType, cells: [toCode(errorType), String(anthropicStatus(body)), toCode(toAnthropicError(body, '').error.type)] }
  })
  return `## Anthropic clients

\`/v1/messages\`, and other routes under \`/v1\` for requests with the header \`anthropic-version\`, answer in the shape of Anthropic's API:
\`{"type": "error", "error": {type, message}, "request_id"}\`. A 422 is a 400 there, and an overload 529.

${toTable(['Type', 'Status', 'type'], unique(rows))}`
}

const jsonRpcSection = `## MCP and A2A clients

\`/mcp\` and \`/a2a\` answer in the shape of JSON-RPC. 401, 403, 413, 429 and 503 that concern the whole request stay HTTP errors.

${toTable(
  ['Code', 'When'],
  [
    ['-32700', 'The body is not JSON.'],
    ['-32600', 'The body is not a JSON-RPC request.'],
    ['-32601', 'There is no such method.'],
    ['-32000', '`/a2a`: the key lacks the permission that the message names.'],
    ['-32000', '`/mcp`: a message of a batch is over the rate limit.'],
    ['-32000', '`/a2a`, and tasks of `/mcp`: a budget is used up. `data` names the budget, and when it is whole again (`resets_at`).'],
    ['-32602', '`/mcp`: there is no such tool, prompt, resource or task, or the parameters are wrong.'],
    ['-32021', '`/mcp`: the client must declare a capability that the answer needs, such as the extension of tasks.'],
    ['-32020', '`/mcp`: a header differs from the message.'],
    ['-32005', '`/a2a`: a part of the message, or the body, has a type that the agent cannot read.'],
  ],
)}

The routes under \`/a2a/v1\` answer with the HTTP statuses of this page, except that 422 is 400, and with \`google.rpc.Status\`: \`error.details[0].reason\` names the
error, such as \`TASK_NOT_FOUND\`.

A tool that fails is no error of the protocol: its result has \`isError: true\` (MCP), or the task ends as \`TASK_STATE_FAILED\` (A2A).`
