import { readDocument } from '../codegen/interface.ts'
import { addTexts } from '../../src/http/openapi/texts.ts'
import type { Schema } from './schema-types.ts'

/** A route of the OpenAPI document. */
export interface Operation {
  method: string
  path: string
  tag: string
  summary: string
  description: string | undefined
  /** Permissions of which the key needs one; empty for any key. */
  permissions: readonly string[]
  isPublic: boolean
  parameters: readonly { name: string; in: string; required?: boolean; description?: string; schema: Schema }[]
  /** Content of the body by media type. */
  body: Record<string, { schema: Schema }>
  responses: Record<string, { description: string; content?: Record<string, { schema?: Schema }> }>
}

const document = readDocument().then((plain) => addTexts(plain) as typeof plain)

/** A route as the document states it. */
interface DocumentedOperation {
  tags?: readonly string[]
  summary?: string
  description?: string
  'x-permissions'?: readonly string[]
  security?: readonly object[]
  parameters?: Operation['parameters']
  requestBody?: { content: Operation['body'] }
  responses: Operation['responses']
}

/** All routes, in the order of their registration. */
export async function listOperations(): Promise<Operation[]> {
  const { paths } = await document
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations as unknown as Record<string, DocumentedOperation>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      tag: operation.tags?.[0] ?? 'Other',
      summary: operation.summary ?? '',
      description: operation.description,
      permissions: operation['x-permissions'] ?? [],
      isPublic: operation.security?.length === 0,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content ?? {},
      responses: operation.responses,
    })),
  )
}

/** The named schemas of the document. */
export async function readSchemas(): Promise<Readonly<Record<string, Schema>>> {
  return (await document).components.schemas
}
