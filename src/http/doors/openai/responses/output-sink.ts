/** Receives the events of a streamed response while its output grows. */
export interface OutputSink {
  event(type: string, fields: object): void
  /** A piece of text. `place` is JSON of the fields that name the position, from the first comma on. */
  delta(type: string, place: string, text: string): void
}

/** An item whose text still grows. */
export interface OpenText {
  id: string
  index: number
  text: string
  place: string
}

/** The fields of an event that name the text of a message. */
export function contentRef({ id, index }: OpenText): object {
  return { item_id: id, output_index: index, content_index: 0 }
}

/** The fields of an event that name a thought. */
export function summaryRef({ id, index }: OpenText): object {
  return { item_id: id, output_index: index, summary_index: 0 }
}
