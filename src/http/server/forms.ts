import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { BusboyFileStream, BusboyHeaders, BusboyInstance } from '@fastify/busboy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid, ServiceError } from '../../errors.ts'
import { createBodyPace, type BodyPace, type BodyPaceOptions } from './read-bodies.ts'
import { ErrorReply, refusals, ValidationReply } from '../schemas/shared.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose body is a form with a file; their `request.body` is an `ArrivingForm`. */
    takesForm?: boolean
  }
}

/** A file of a form. */
export interface FormFile {
  /** As the client sent it, without folders. */
  name: string
  /** The content type of the part. */
  type: string
  /** Upper bound of the bytes, where the client has stated the length of the form. */
  maxBytes: number | undefined
  /** Throws a `ServiceError` when the form breaks off or is malformed. */
  content: AsyncIterable<Uint8Array>
}

/** The texts of a form by name. */
export type FormFields = ReadonlyMap<string, string>

/**
 * Stores the file of a form when it begins to arrive, and reads its content. `fields` resolves at the end of the form, because fields may follow
 * the file.
 */
export type TakeFile<T> = (file: FormFile, fields: () => Promise<FormFields>) => Promise<T>

/** A form (RFC 7578) with one part `file` that is still arriving. */
export interface ArrivingForm {
  /** Calls `take` with the file. Rejects with the error of `take` or of the form, when nothing of the file is used any more. */
  receive<T>(take: TakeFile<T>): Promise<T>
}

/** Memory of a form in bytes: what its file waits for on the way to its store. */
const reservedBytes = 8 * 1024 * 1024
/** Bytes of a form beside its file. */
const maxOtherBytes = 1024 * 1024
const limits = { fieldNameSize: 100, fieldSize: 64 * 1024, fields: 20, files: 1, parts: 21, headerPairs: 20, headerSize: 16 * 1024 }

/** Accepts forms on routes with `takesForm`. The route reads the form; no other part of the server does. */
export function readForms(app: FastifyInstance, options: BodyPaceOptions = {}): void {
  const pace = createBodyPace(options)
  app.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    if (!request.routeOptions.config.takesForm)
      return done(new ServiceError('unsupported_media_type', 'The content type must be application/json.'))
    done(null, new Form((take) => receive(request, pace, take)))
  })
}

/** The form of a request to a route with `takesForm`. Throws `unsupported_media_type` for another body. */
export function formOf({ body }: FastifyRequest): ArrivingForm {
  if (body instanceof Form) return body
  throw new ServiceError('unsupported_media_type', 'The content type must be multipart/form-data.')
}

/** Options of a route with `takesForm`: its schema describes the form for the OpenAPI document, and the route checks the fields itself. */
export const formRoute = { validatorCompiler: () => () => true }

/** The replies of a route with `takesForm` to a form that is not taken. */
export const formRefusals = { 400: ErrorReply, 408: ErrorReply, 413: ErrorReply, 415: ErrorReply, 422: ValidationReply, ...refusals }

class Form implements ArrivingForm {
  readonly receive: ArrivingForm['receive']
  constructor(receiveForm: ArrivingForm['receive']) {
    this.receive = receiveForm
  }
}

async function receive<T>(request: FastifyRequest, pace: BodyPace, take: TakeFile<T>): Promise<T> {
  const { raw, bodyReservation: reservation } = request
  const refusal = reservation?.take(reservedBytes)
  if (refusal) throw refusal
  const parser = await createParser(raw)
  const form = new FormReader<T>(parser, Number(request.headers['content-length'] ?? Infinity), take)
  request.awaitsContinue?.writeContinue()
  request.isContinued = true
  try {
    const [result] = await Promise.all([form.result, pump(raw, parser, form, pace)])
    return result
  } catch (error) {
    const fault = toServiceError(error)
    form.fail(fault)
    // The file is discarded before the answer. Where `take` gave the file up, the form fails too, and only `take` knows the reason.
    throw (await form.rejection()) ?? fault
  } finally {
    reservation?.complete()
    raw.resume()
  }
}

async function createParser(raw: IncomingMessage): Promise<BusboyInstance> {
  // Imported on demand: most processes receive no file.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({ headers: raw.headers as BusboyHeaders, limits })
  } catch (cause) {
    throw malformed(cause)
  }
}

/** What has arrived of a form. */
class FormReader<T> {
  readonly result: Promise<T>
  /** Bytes of the file so far. */
  fileBytes = 0
  private readonly fields = new Map<string, string>()
  private readonly ended = Promise.withResolvers<FormFields>()
  private readonly started = Promise.withResolvers<T>()
  private taking: Promise<T> | undefined
  private file: Readable | undefined

  constructor(parser: BusboyInstance, length: number, take: TakeFile<T>) {
    this.result = this.started.promise
    // `fail` rejects both, and not every reader waits for them.
    this.ended.promise.catch(() => undefined)
    this.result.catch(() => undefined)
    const maxBytes = Number.isFinite(length) ? length : undefined
    parser.on('file', (field, stream, name, _encoding, type) => {
      // Without a listener an error would end the process.
      stream.on('error', (error) => this.fail(toServiceError(error)))
      if (field !== 'file') return this.fail(invalid(['body', field], 'is not known'))
      this.file = stream
      this.taking = take({ name: name ?? '', type, maxBytes, content: this.contentOf(stream) }, () => this.ended.promise)
      this.taking.then(this.started.resolve, (error: Error) => this.fail(error))
    })
    parser.on('field', (name, value, _isNameCut, isCut) => {
      if (isCut) this.fail(invalid(['body', name], 'is too long'))
      else this.fields.set(name, value)
    })
    parser.on('finish', () => {
      if (this.taking) this.ended.resolve(this.fields)
      else this.fail(invalid(['body', 'file'], 'is required', 'missing'))
    })
    parser.on('filesLimit', () => this.fail(invalid(['body', 'file'], 'must be a single file')))
    parser.on('fieldsLimit', () => this.fail(invalid(['body'], 'has too many fields')))
    parser.on('partsLimit', () => this.fail(invalid(['body'], 'has too many parts')))
    parser.on('error', (error) => this.fail(toServiceError(error)))
  }

  fail(error: Error): void {
    this.started.reject(error)
    this.ended.reject(error)
    this.file?.destroy(error)
  }

  /** Why `take` rejected, once it has settled. */
  async rejection(): Promise<unknown> {
    return this.taking?.then(
      () => undefined,
      (error: unknown) => error,
    )
  }

  private async *contentOf(stream: BusboyFileStream): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of stream) {
        this.fileBytes += (chunk as Buffer).length
        yield chunk as Buffer
      }
    } catch (error) {
      throw toServiceError(error)
    }
  }
}

type FormProgress = Pick<FormReader<void>, 'fileBytes' | 'fail'> & { result: Promise<unknown> }

/** Feeds the body to the parser at the speed of the store. Resolves after the last byte, or when the form has settled. */
async function pump(raw: IncomingMessage, parser: BusboyInstance, form: FormProgress, pace: BodyPace): Promise<void> {
  const untilSettled = createSettledWait(form.result)
  let bytes = 0
  let isWriting = false
  // A slow store is not the fault of the client.
  const arriving = pace.start((error) => {
    if (!isWriting) form.fail(error)
  })
  const chunks = raw.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await untilSettled(chunks.next())
      if (!next) return
      if (next.done) break
      const chunk = next.value as Buffer
      bytes += chunk.length
      if (bytes > form.fileBytes + maxOtherBytes) return form.fail(new ServiceError('input_too_large', 'The form is larger than its file.'))
      isWriting = true
      const written = new Promise<true>((resolve) => void parser.write(chunk, () => resolve(true)))
      if (!(await untilSettled(written))) return
      isWriting = false
      arriving.bytes += chunk.length
    }
    parser.end()
  } finally {
    pace.stop(arriving)
    void chunks.return?.()
  }
}

/**
 * Waits for one step after the other; a step resolves with undefined once `result` has settled. `Promise.race` with `result` would keep the value
 * of every step, and so the whole body, until then.
 */
function createSettledWait(result: Promise<unknown>) {
  let isSettled = false
  let stop: (() => void) | undefined
  const settle = () => {
    isSettled = true
    stop?.()
  }
  result.then(settle, settle)
  return <V>(step: Promise<V>): Promise<V | undefined> =>
    new Promise((resolve, reject) => {
      stop = () => resolve(undefined)
      step.then(resolve, reject)
      if (isSettled) stop()
    })
}

function toServiceError(cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause
  const isCut = cause instanceof Error && (cause as NodeJS.ErrnoException).code === 'ECONNRESET'
  if (isCut) return new ServiceError('request_timeout', 'The client closed the connection before its body was complete.', { cause })
  return malformed(cause)
}

function malformed(cause: unknown): ServiceError {
  return new ServiceError('invalid_input', 'The body is not a complete form (multipart/form-data).', { cause })
}
