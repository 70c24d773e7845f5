import type { ContentBlock } from '@modelcontextprotocol/client'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { Tool, ToolContext } from '../../agent/tool.ts'
import { isObject } from '../../json/shape.ts'
import { createTool, type ToolSpec } from '../builder.ts'
import { toLine } from '../plain-text.ts'
import { metaOf, toOutput } from './call.ts'
import type { Connection } from './connection.ts'
import type { Secrets } from './server.ts'
import type { ResourceRequest } from './session.ts'

interface ResourceToolOptions {
  spec: ToolSpec
  connection(): Connection
  secrets: Pick<Secrets, 'mask'>
}

/** Tools that list and read the resources of a server: files, records and pages that the server names by URIs. */
export function createResourceTools({ spec, connection, secrets }: ResourceToolOptions): Tool[] {
  async function request(method: ResourceRequest['method'], params: ResourceRequest['params'], context: ToolContext) {
    const answer = { method, params, meta: metaOf(context), signal: context.signal, timeoutMs: spec.timeoutMs }
    return secrets.mask(await connection().resources(answer))
  }

  async function list({ cursor }: JsonObject, context: ToolContext): Promise<JsonValue> {
    const page = await request('resources/list', typeof cursor === 'string' ? { cursor } : {}, context)
    const resources = entriesOf(page['resources'], 'uri')
    const nextCursor: JsonObject = typeof page['nextCursor'] === 'string' ? { next_cursor: page['nextCursor'] } : {}
    if (cursor !== undefined) return { resources, ...nextCursor }
    // A server without templates may answer with an error.
    const templates = await request('resources/templates/list', {}, context).catch(() => ({ resourceTemplates: [] }))
    return { resources, templates: entriesOf(Object(templates)['resourceTemplates'], 'uriTemplate'), ...nextCursor }
  }

  async function read({ uri }: JsonObject, context: ToolContext): Promise<JsonValue> {
    const { contents } = await request('resources/read', { uri: String(uri) }, context)
    if (!Array.isArray(contents)) throw new Error('The server did not answer with a resource.')
    const blocks = contents.flatMap((content) => (isObject(content) ? [toBlock(content)] : []))
    if (blocks.length === 0) throw new Error('The resource is empty.')
    return toOutput({ content: blocks }, context.artifact, spec.maxOutputCharacters)
  }

  const own = (name: string): ToolSpec => ({ ...withoutTraits(spec), name: `${spec.name}__${name}` })
  return [
    createTool(own('list_resources'), {
      description: `Lists the resources that the server ${spec.name} offers, with their URIs, and templates of URIs.`,
      schema: {
        type: 'object',
        properties: { cursor: { type: 'string', description: 'The next_cursor of the page before.' } },
        additionalProperties: false,
      },
      effect: 'read',
      filters: false,
      execute: list,
    }),
    createTool(own('read_resource'), {
      description: `Reads a resource of the server ${spec.name}. ${spec.name}__list_resources has the URIs.`,
      schema: {
        type: 'object',
        properties: { uri: { type: 'string', minLength: 1, maxLength: 2000, description: 'The URI, listed or made from a template.' } },
        required: ['uri'],
        additionalProperties: false,
      },
      effect: 'read',
      filters: false,
      execute: read,
    }),
  ]
}

/** The effect of the entry describes the tools of the server, and its description all of them. */
function withoutTraits({ name, timeoutMs, maxOutputCharacters, config }: ToolSpec): ToolSpec {
  return { name, timeoutMs, maxOutputCharacters, config }
}

const maxText = 300

function entriesOf(list: unknown, key: 'uri' | 'uriTemplate'): JsonObject[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((entry): JsonObject[] => {
    const { [key]: uri, name, title, description, mimeType, size } = Object(entry) as Record<string, unknown>
    if (typeof uri !== 'string') return []
    const texts = Object.entries({ name: title ?? name, description, media_type: mimeType })
    const shown = texts.flatMap(([field, text]) => (typeof text === 'string' && text !== '' ? [[field, toLine(text, maxText)]] : []))
    const uriField = key === 'uri' ? 'uri' : 'uri_template'
    return [{ [uriField]: uri, ...Object.fromEntries(shown), ...(typeof size === 'number' && { size }) }]
  })
}

/** Text is given to the model as it stands; binary content becomes a file. */
function toBlock({ uri, mimeType, text, blob }: Record<string, unknown>): ContentBlock {
  if (typeof text === 'string') return { type: 'text', text }
  const type = typeof mimeType === 'string' ? { mimeType } : {}
  return { type: 'resource', resource: { uri: String(uri), ...type, blob: typeof blob === 'string' ? blob : '' } }
}
