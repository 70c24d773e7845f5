import { appendFileSync } from 'node:fs'

/** Appends a call to the file that the variable `SHOP_CALLS` names, as a line of JSON. Nothing else happens: the data of the shop stays. */
export function recordCall(tool: string, input: object, session: string) {
  const { SHOP_CALLS: file } = process.env
  if (file === undefined) throw new Error('SHOP_CALLS must name a file.')
  appendFileSync(file, `${JSON.stringify({ session, tool, input })}\n`)
  return { done: true, ...input }
}
