/** Folders and ids are made by this service; what comes back in an address is looked at all the same before it becomes a path or a key. */
const safe = /^[A-Za-z0-9][A-Za-z0-9-]{0,127}$/

export function isPlaceName(name: string): boolean {
  return safe.test(name)
}

/** Throws where it is no name of a folder or a file. */
export function placeName(name: string): string {
  if (!isPlaceName(name)) throw new Error(`"${name}" is no name of an artifact's place.`)
  return name
}
