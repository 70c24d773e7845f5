import { agentSteps, finishReasons } from '../../src/http/schemas/chat.ts'
import { defaultKeepAliveMs, sseHeaders, stalledMs } from '../../src/http/server/sse.ts'
import { readSchemas } from './operations.ts'
import { describeType, type Schema } from './schema-types.ts'
import { toCode, toPage, toProse, toTable } from './markdown.ts'

/** The page of the events of a stream, from the schema of a chunk and the tables of its labels. */
export async function streamEventsPage(): Promise<string> {
  const schemas = await readSchemas()
  const head = {
    title: 'Stream events',
    description: 'The server-sent events of a streamed chat: fields, labels, ids, comments and the end.',
  }
  const chunk = schemas['StreamChunk']!
  const parts = namesOfParts(chunk).map((name) => `## ${name}\n\n${schemas[name]!.description}\n\n${toFields(schemas[name]!, schemas)}`)
  return toPage(head, [
    introduction,
    `## Fields\n\n${toFields(chunk, schemas)}`,
    toMeanings('agent_step', agentSteps),
    output,
    toMeanings('finish_reason', finishReasons),
    ids,
    ...parts,
  ])
}

/** Names of the schemas that fields of a chunk refer to. */
function namesOfParts({ properties = {} }: Schema): string[] {
  const references = Object.values(properties).flatMap(({ $ref, items }) => [$ref, items?.$ref])
  return [...new Set(references.flatMap((reference) => (reference === undefined ? [] : [reference.split('/').at(-1)!])))]
}

const introduction = `\`POST /core/v1/chain_streaming\` and \`GET /core/v1/runs/{request_id}/stream\` answer with server-sent events. Each event is a line \`id:\`, a line
\`data:\` with one JSON object, and an empty line. Only [progress of a tool](../guides/streaming.md#read-a-stream) has a line \`event: progress\` too.

\`\`\`text
id: 01a1fd5d-67f6-7502-b401-06e47c62549c:5
data: {"id":"01a1fd5d-67f6-7502-b401-06e47c62549c","token":"**397.8**.","agent_step":"answer","finish_reason":"null","usage":[]}
\`\`\`

An error before the first event is an ordinary [HTTP error](errors.md). The headers are
${Object.entries(sseHeaders)
  .map(([name, value]) => toCode(`${name}: ${value}`))
  .join(', ')}.`

function toFields({ properties = {}, required = [] }: Schema, schemas: Readonly<Record<string, Schema>>): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const description = schema.description ?? schemas[schema.$ref?.split('/').at(-1) ?? '']?.description ?? ''
    return [toCode(name), describeType(schema), required.includes(name) ? 'always' : 'where it applies', toProse(description)]
  })
  return toTable(['Field', 'Type', 'Present', 'Description'], rows)
}

function toMeanings(field: string, meanings: Readonly<Record<string, string>>): string {
  const rows = Object.entries(meanings).map(([value, meaning]) => [toCode(value), toProse(meaning)])
  return `## Values of ${field}\n\n${toTable(['Value', 'Meaning'], rows)}`
}

const output = `**The answer** is the tokens labelled \`answer\` after the last chunk with another label. Text that the agent wrote before a tool call is an \`answer\`
too, until the chunk of the call follows. A client that shows tokens as they arrive therefore clears the answer when another label comes.`

const ids = `## Ids, comments and the end

- **Ids** are \`<request id>:<number>\`. Numbers start at 1 and have no gap. Send the last id as \`last-event-id\` to
  \`GET /core/v1/runs/{request_id}/stream\` to go on behind it; without the header, the stream starts at the first event. A run that is replayed has
  the same numbers as long as it is kept.
- **Comments**: after ${defaultKeepAliveMs / 1000} seconds of silence the line \`: keep-alive\` is sent, so that proxies keep the connection. Readers of server-sent
  events skip it.
- **The end**: exactly one chunk has a \`finish_reason\` other than \`"null"\`, and it is the last. A reader that has all events of an ended run is
  answered with 204.
- **A slow reader** is disconnected when it takes nothing for ${stalledMs / 1000} seconds, and may come back.
- **A reader that goes away** has \`limits.reconnect_grace\` seconds to come back; then the run is cancelled, unless the request says
  \`"on_disconnect": "continue"\`.`
