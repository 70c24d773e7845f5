/** Bytes `start` to `end` of a file, both included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * Parses a `range` header for a file of `size` bytes (RFC 9110, 14.2). `all`: no header, several ranges or another unit, so the whole file is
 * sent. `none`: the range begins after the end of the file.
 */
export function toByteRange(header: string | undefined, size: number): ByteRange | 'all' | 'none' {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all'
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return 'all'
  return start > end ? 'none' : { start, end }
}
