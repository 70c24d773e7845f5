import recorded from './reply-examples.json' with { type: 'json' }

/** Values by operation id, then by status and media type (`200 application/json`), then by the name of the example. */
export type ReplyExamples = Record<string, Record<string, Record<string, unknown>>>

/** Replies of the sample agent, written by `RECORD=1 node --test test/contract/openapi-examples.test.ts`. */
export const replyExamples: ReplyExamples = recorded
