import type { components, paths } from './generated/interface.ts'

/** Types of the interface by name, such as `Schema<'StreamChunk'>`. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name]

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths that have a method. */
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<Lowercase<M>, object> ? P : never }[keyof paths]

type Operation<M extends Method, P extends PathOf<M>> = paths[P] extends Record<Lowercase<M>, infer O> ? O : never

type Parameters<O, Place extends string> = O extends { parameters: infer All }
  ? Place extends keyof All
    ? NonNullable<All[Place]>
    : never
  : never

/** `{ [Name]: T }`. The field is optional if all fields of `T` are optional. */
type Part<Name extends string, T> = [T] extends [never]
  ? { [N in Name]?: undefined }
  : Record<string, never> extends T
    ? { [N in Name]?: T | undefined }
    : { [N in Name]: T }

type Content<T> = T extends { content: infer C } ? C : never

/** Forms and bytes are sent unchanged, any other body as JSON. */
type BodyOf<C> = C extends { 'application/json': infer J }
  ? J
  : C extends { 'multipart/form-data': unknown }
    ? FormData
    : [C] extends [never]
      ? never
      : Blob | ArrayBuffer | ReadableStream<Uint8Array>

type Body<O> = O extends { requestBody: infer B }
  ? Part<'body', BodyOf<Content<B>>>
  : O extends { requestBody?: infer B }
    ? { body?: BodyOf<Content<NonNullable<B>>> | undefined }
    : { body?: undefined }

/** JSON of a reply; the `Response` itself for bytes and streams; undefined for a reply without content. */
type ReplyOf<R> = R extends { content: infer C }
  ? C extends { 'application/json': infer J }
    ? J
    : [C] extends [never]
      ? undefined
      : Response
  : undefined

type Replies<O> = O extends { responses: infer All } ? All[Extract<keyof All, 200 | 201 | 202 | 204 | 206>] : never

/** Body of the 2xx replies of a path. A chat with `on_busy: 'steer'` may have the reply of `runs.steer` instead. */
export type Reply<M extends Method, P extends PathOf<M>> = Exclude<ReplyOf<Replies<Operation<M, P>>>, Schema<'SteeredChat'>>

/** The query of a path. */
export type Query<M extends Method, P extends PathOf<M>> = Parameters<Operation<M, P>, 'query'>

export interface CallOptions {
  /** Headers of this request alone. An undefined value is left out. */
  headers?: Record<string, string | undefined> | undefined
  /** Ends the request. The promise is rejected with the reason of the signal. */
  signal?: AbortSignal | undefined
}

/** Parameters, body and options of a request. */
export type RequestOptions<M extends Method, P extends PathOf<M>> = Part<'path', Parameters<Operation<M, P>, 'path'>> &
  Part<'query', Parameters<Operation<M, P>, 'query'>> &
  Body<Operation<M, P>> &
  CallOptions

/** Arguments after method and path. Options are optional if the request requires no parameter and no body. */
export type RequestArguments<M extends Method, P extends PathOf<M>> =
  Record<string, never> extends RequestOptions<M, P> ? [options?: RequestOptions<M, P>] : [options: RequestOptions<M, P>]
