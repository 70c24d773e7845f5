/** Folder names and ids come from this service, but return in URLs, so each is checked before it becomes a path or a key. */
const safe = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/

export function isSafeName(name: string): boolean {
  return safe.test(name)
}

/** Returns the name. Throws when the name is not a safe folder name or id. */
export function requireSafeName(name: string): string {
  if (!isSafeName(name)) throw new Error(`"${name}" is not a valid folder name or id of an artifact.`)
  return name
}
