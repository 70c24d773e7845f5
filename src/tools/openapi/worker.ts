import { once } from 'node:events'
import process from 'node:process'
import type { Api } from './api.ts'
import { parseText } from './parse-document.ts'
import { readApi, type LoadFiles } from './read-api.ts'
import type { FileAnswer, ReadAnswer, ReadQuestion } from './read-document.ts'
import type { LoadedFile } from './references.ts'
import { messageOf } from '../../errors.ts'
import { createAjv } from '../../json/schema/ajv.ts'

/** A child process for one document: answers a single `ReadQuestion` with the operations, and exits when its channel closes. */

async function read({ bytes, href, options }: ReadQuestion): Promise<Api> {
  const api = await readApi({ content: parseText(bytes), href, load }, options)
  const ajv = createAjv('tolerant')
  const isFit = ({ schema }: Api['operations'][number]) => ajv.validateSchema(schema) === true
  const broken = api.operations.filter((operation) => !isFit(operation))
  const faults = broken.map(({ id, method, path }) => ({ id, location: `${method} ${path}`, reason: 'its schema is not a JSON Schema' }))
  return { ...api, operations: api.operations.filter((operation) => !broken.includes(operation)), skipped: [...api.skipped, ...faults] }
}

/** Files are read by the service, which decides on the allowed files. */
const load: LoadFiles = async (hrefs) => {
  const answered = once(process, 'message') as Promise<[{ response: FileAnswer[] }]>
  process.send?.({ request: hrefs })
  const [{ response }] = await answered
  return new Map(response.map((file) => [file.href, 'fault' in file ? { fault: file.fault } : parseFile(file.bytes)]))
}

function parseFile(bytes: Uint8Array): LoadedFile {
  try {
    return { content: parseText(bytes) }
  } catch (error) {
    return { fault: `cannot be read: ${toReason(error)}` }
  }
}

async function answer(question: ReadQuestion): Promise<ReadAnswer> {
  try {
    return { api: Buffer.from(JSON.stringify(await read(question))) }
  } catch (error) {
    return { error: toReason(error) }
  }
}

function toReason(error: unknown): string {
  return error instanceof RangeError ? 'it is nested too deeply' : messageOf(error)
}

process.once('message', (question: ReadQuestion) => {
  void answer(question).then((message) => process.send?.(message))
})
process.on('disconnect', () => process.exit(0))
