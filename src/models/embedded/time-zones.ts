/** Zones by lower-case names of places that are not in the name of an IANA zone. */
const places: Record<string, string> = {
  'new york': 'America/New_York',
  boston: 'America/New_York',
  washington: 'America/New_York',
  miami: 'America/New_York',
  atlanta: 'America/New_York',
  'san francisco': 'America/Los_Angeles',
  seattle: 'America/Los_Angeles',
  california: 'America/Los_Angeles',
  'las vegas': 'America/Los_Angeles',
  texas: 'America/Chicago',
  houston: 'America/Chicago',
  dallas: 'America/Chicago',
  austin: 'America/Chicago',
  montreal: 'America/Toronto',
  ottawa: 'America/Toronto',
  rio: 'America/Sao_Paulo',
  'rio de janeiro': 'America/Sao_Paulo',
  brazil: 'America/Sao_Paulo',
  argentina: 'America/Buenos_Aires',
  england: 'Europe/London',
  uk: 'Europe/London',
  'united kingdom': 'Europe/London',
  manchester: 'Europe/London',
  edinburgh: 'Europe/London',
  germany: 'Europe/Berlin',
  munich: 'Europe/Berlin',
  hamburg: 'Europe/Berlin',
  frankfurt: 'Europe/Berlin',
  cologne: 'Europe/Berlin',
  france: 'Europe/Paris',
  lyon: 'Europe/Paris',
  spain: 'Europe/Madrid',
  barcelona: 'Europe/Madrid',
  italy: 'Europe/Rome',
  milan: 'Europe/Rome',
  geneva: 'Europe/Zurich',
  bern: 'Europe/Zurich',
  switzerland: 'Europe/Zurich',
  austria: 'Europe/Vienna',
  netherlands: 'Europe/Amsterdam',
  belgium: 'Europe/Brussels',
  poland: 'Europe/Warsaw',
  portugal: 'Europe/Lisbon',
  sweden: 'Europe/Stockholm',
  norway: 'Europe/Oslo',
  denmark: 'Europe/Copenhagen',
  finland: 'Europe/Helsinki',
  greece: 'Europe/Athens',
  ireland: 'Europe/Dublin',
  kyiv: 'Europe/Kiev',
  turkey: 'Europe/Istanbul',
  russia: 'Europe/Moscow',
  israel: 'Asia/Jerusalem',
  'tel aviv': 'Asia/Jerusalem',
  'abu dhabi': 'Asia/Dubai',
  india: 'Asia/Kolkata',
  kolkata: 'Asia/Kolkata',
  mumbai: 'Asia/Kolkata',
  delhi: 'Asia/Kolkata',
  'new delhi': 'Asia/Kolkata',
  bangalore: 'Asia/Kolkata',
  china: 'Asia/Shanghai',
  beijing: 'Asia/Shanghai',
  shenzhen: 'Asia/Shanghai',
  japan: 'Asia/Tokyo',
  osaka: 'Asia/Tokyo',
  kyoto: 'Asia/Tokyo',
  korea: 'Asia/Seoul',
  'south korea': 'Asia/Seoul',
  taiwan: 'Asia/Taipei',
  thailand: 'Asia/Bangkok',
  vietnam: 'Asia/Ho_Chi_Minh',
  hanoi: 'Asia/Bangkok',
  indonesia: 'Asia/Jakarta',
  'the philippines': 'Asia/Manila',
  pakistan: 'Asia/Karachi',
  kathmandu: 'Asia/Kathmandu',
  'south africa': 'Africa/Johannesburg',
  'cape town': 'Africa/Johannesburg',
  egypt: 'Africa/Cairo',
  kenya: 'Africa/Nairobi',
  nigeria: 'Africa/Lagos',
  'new zealand': 'Pacific/Auckland',
  wellington: 'Pacific/Auckland',
  canberra: 'Australia/Sydney',
  hawaii: 'Pacific/Honolulu',
  utc: 'UTC',
  gmt: 'UTC',
}

/** Finds all zones of an enumeration: "in Tokyo and in Berlin". */
export function findTimeZones(text: string): string[] {
  return [...new Set(text.split(/,| and |&/i).flatMap((part) => findTimeZone(part) ?? []))]
}

/** Finds the IANA zone in a text, by zone name, city or country. */
export function findTimeZone(text: string): string | undefined {
  const written =
    /\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)\/[A-Za-z_]+(?:\/[A-Za-z_]+)?|\bEtc\/[A-Za-z0-9+-]+/.exec(
      text,
    )
  if (written) return written[0]
  const words = ` ${text.toLowerCase().replace(/[^\p{L}]+/gu, ' ')} `
  const placeName = Object.keys(places).find((name) => words.includes(` ${name} `))
  if (placeName) return places[placeName]
  return Intl.supportedValuesOf('timeZone').find((zone) =>
    words.includes(
      ` ${zone
        .slice(zone.lastIndexOf('/') + 1)
        .replaceAll('_', ' ')
        .toLowerCase()} `,
    ),
  )
}
