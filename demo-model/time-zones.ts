/** Large cities and states that are not in the name of an IANA zone. */
const cities = Object.entries({
  'America/Los_Angeles': 'san francisco, seattle, california',
  'America/New_York': 'boston, washington, miami',
  'America/Chicago': 'texas, houston, dallas',
  'Europe/Berlin': 'munich, hamburg, frankfurt',
  'Europe/London': 'uk, england',
  'Asia/Kolkata': 'mumbai, delhi, bangalore',
  'Asia/Shanghai': 'beijing',
  UTC: 'utc, gmt',
}).flatMap(([zone, names]) => names.split(', ').map((name): [string, string] => [name, zone]))

/** Zones by the city in their name and by country. A country with more than two zones is left out: its cities differ in time. */
let zonesByPlace: ReadonlyMap<string, string> | undefined

function places(): ReadonlyMap<string, string> {
  if (zonesByPlace) return zonesByPlace
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
  const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(65 + at))
  const countries = letters.flatMap((a) => letters.map((b) => a + b)).map((code) => ({ name: names.of(code)?.toLowerCase(), code }))
  const zoned = countries.flatMap(({ name, code }): [string, string][] => {
    const zones = name === undefined ? [] : zonesOf(new Intl.Locale('en', { region: code }))
    return name !== undefined && zones[0] !== undefined && zones.length <= 2 ? [[name, zones[0]]] : []
  })
  const cityOf = (zone: string) =>
    zone
      .slice(zone.lastIndexOf('/') + 1)
      .replaceAll('_', ' ')
      .toLowerCase()
  const zonesByCity = Intl.supportedValuesOf('timeZone').map((zone): [string, string] => [cityOf(zone), zone])
  zonesByPlace = new Map([...zoned, ...zonesByCity, ...cities])
  return zonesByPlace
}

/** `getTimeZones` is missing in the types of TypeScript. */
function zonesOf(locale: Intl.Locale & { getTimeZones?(): string[] | undefined }): string[] {
  return locale.getTimeZones?.() ?? []
}

/** The IANA zones in a text by zone name, city or country: two of "in Tokyo and in Berlin". */
export function findTimeZones(text: string): string[] {
  return [...new Set(text.split(/,| and |&/i).flatMap((part) => findTimeZone(part) ?? []))]
}

export function findTimeZone(text: string): string | undefined {
  const written = /\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)\/[A-Za-z0-9_+/-]+/.exec(text)?.[0]
  if (written !== undefined) return written
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? []
  for (const length of [3, 2, 1])
    for (let at = 0; at + length <= words.length; at++) {
      const zone = places().get(words.slice(at, at + length).join(' '))
      if (zone !== undefined) return zone
    }
  return undefined
}
