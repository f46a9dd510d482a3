import { type CredentialField, type CredentialForm, cards, type Text } from '@herald/channels/cards'
import type { CertificateView, Environment, NewCertificate, Provider } from '@herald/client'
import { publicName } from '@herald/domain'

/** A vendor has one form per kind of credentials. */
export type VendorForm = {
  provider: Provider
  channel: string
  kind?: Text
  fields: readonly CredentialField[]
}

export const vendorForms: readonly VendorForm[] = cards.flatMap(({ provider, name, credentials }) =>
  credentials.map(({ kind, fields }: CredentialForm) => ({
    provider,
    channel: publicName(name),
    kind,
    fields,
  })),
)

const EXTRA = 'extra.'
export const isExtra = (to: CredentialField['to']): to is `extra.${string}` => to.startsWith(EXTRA)

/** The region is part of a record's place, so it is chosen next to the environment. */
export const isRegion = ({ to }: CredentialField) => to === 'extra.region'

/** Whether a record has the place that the form would save to. */
export function isReplaced(
  record: Pick<CertificateView, 'provider' | 'environment' | 'region'>,
  form: VendorForm,
  environment: Environment,
  values: Readonly<Record<string, string>>,
): boolean {
  const region = form.fields.find(isRegion)
  return (
    record.provider === form.provider &&
    record.environment === environment &&
    record.region === (region ? values[region.to] || String(region.choices?.[0]) : null)
  )
}

/** Returns the record to save. `extraJson` contains further keys of `extra`; the form's fields take precedence. */
export function certificateOf(
  form: VendorForm,
  { environment, name }: { environment: Environment; name: string },
  values: Readonly<Record<string, string>>,
  extraJson: string,
): NewCertificate {
  const record: NewCertificate = { provider: form.provider, environment, name: name.trim() }
  const extra: Record<string, unknown> = extraJson.trim() === '' ? {} : JSON.parse(extraJson)
  for (const field of form.fields) {
    const { to } = field
    const value = values[to]?.trim() ?? ''
    if (value === '') continue
    if (isExtra(to)) extra[to.slice(EXTRA.length)] = extraValue(field, value)
    else record[to] = value
  }
  return Object.keys(extra).length === 0 ? record : { ...record, extra }
}

function extraValue({ kind, choices }: CredentialField, value: string): unknown {
  switch (kind) {
    case 'flag':
      return value === 'true'
    case 'list':
      return value
        .split(/[,\s]+/)
        .map((item) => item.trim())
        .filter((item) => item !== '')
    case 'choice':
      return choices?.find((choice) => String(choice) === value)
    default:
      return value
  }
}
