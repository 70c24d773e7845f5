/** A stream begins with this comment where the reader is faster than the run, which depends on the load of the machine. */
const keepAlive = ': keep-alive\n\n'

/** Replaces what differs between two equal runs: ids that the service makes, times, the address of the service, and comments. */
export function createNormal(url: string): (text: string) => string {
  const ids = new Map<string, string>()
  const named = (kind: string) => (id: string) => {
    if (!ids.has(id)) ids.set(id, `<${kind} ${ids.size + 1}>`)
    return ids.get(id)!
  }
  return (text) =>
    text
      .replaceAll(url, '<service>')
      .replaceAll(keepAlive, '')
      .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>')
      .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, named('id'))
      .replace(/\b[\da-f]{32,64}\b/g, named('hash'))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>')
      .replace(
        /("(?:execution_time|created|created_at|completed_at|timestamp|started_at|ended_at|expires_at|durationMs|expires)":) ?[\d.e-]+/g,
        '$1<number>',
      )
      .replace(/("id":"human:\d+:)\d+/g, '$1<number>')
      .replace(/("costAttribute":"tool:[^"]*","usage":)[\d.e-]+/g, '$1<number>')
      .replace(/([?&](?:sig|signature|token|exp|expires)=)[\w.~%-]+/g, '$1<token>')
}
