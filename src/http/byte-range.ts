/** A part of a file: byte `start` to byte `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

/**
 * What a `range` header asks of so many bytes (RFC 9110, 14.2): `all` where it asks for nothing that we serve (several ranges, another
 * unit), `none` where it lies behind the end.
 */
export function toByteRange(header: string | undefined, size: number): ByteRange | 'all' | 'none' {
  const [, first, last] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'all'
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < Number(first)) return 'all'
  return start > end ? 'none' : { start, end }
}
