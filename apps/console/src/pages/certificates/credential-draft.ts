import type { CredentialField } from '@herald/channels/cards'
import {
  type CertificateView,
  type Environment,
  fromExactJson,
  type NewCertificate,
  toExactJson,
} from '@herald/client'
import { isJsonObject } from '../../calculations/json-object.ts'
import { extraKey, isExtra, isRegion, isRequired, type VendorForm, vendorForms } from './vendor-forms.ts'

/** What the form contains. Values are by `to` of the field, as text. */
export type CredentialDraft = {
  /** Index in `vendorForms`. */
  form: number
  environment: Environment
  name: string
  values: Readonly<Record<string, string>>
  /** Further keys of `extra`. */
  extraJson: string
  /** Of the fields of which at least one is needed: those that are used. */
  used: readonly string[]
  /** Saved values that are removed. */
  removed: readonly string[]
}

/** The API replaces all but the last characters of a secret by these. */
const MASK = '****'
const isMasked = (value: unknown) => typeof value === 'string' && value.startsWith(MASK)

export function blankDraft(form = 0, packageName = ''): CredentialDraft {
  const { fields, oneNeeded } = vendorForms[form]!
  const values = Object.fromEntries(
    fields.flatMap((field) => {
      if (isRegion(field)) return [[field.to, String(field.choices?.[0])]]
      return field.proposes && packageName ? [[field.to, packageName]] : []
    }),
  )
  return {
    form,
    environment: 1,
    name: '',
    values,
    extraJson: '',
    used: oneNeeded.slice(0, 1),
    removed: [],
  }
}

/** The form of a saved record. Its secrets are not in the browser: their fields are empty, and are kept by name. */
export function draftOf(record: CertificateView): CredentialDraft {
  const form = formIndexOf(record)
  const { fields, oneNeeded } = vendorForms[form]!
  const values: Record<string, string> = {}
  for (const field of fields) {
    const value = shownValue(record, field)
    if (value !== '') values[field.to] = value
  }
  const known = new Set(fields.map(({ to }) => to as string))
  const further = Object.entries(record.extra).filter(
    ([key, value]) => !known.has(`extra.${key}`) && !isMasked(value) && key !== 'region',
  )
  const saved = oneNeeded.filter((to) => isSaved(record, to))
  return {
    form,
    environment: record.environment,
    name: record.name,
    values,
    extraJson: further.length === 0 ? '' : toExactJson(Object.fromEntries(further), 2),
    used: saved.length > 0 ? saved : oneNeeded.slice(0, 1),
    removed: [],
  }
}

/** The kind of credentials of a record: the first form whose required fields are all saved. */
function formIndexOf(record: CertificateView): number {
  const isOfVendor = ({ provider }: VendorForm) => provider === record.provider
  const fitting = vendorForms.findIndex(
    (form) =>
      isOfVendor(form) && form.fields.every((field) => !isRequired(field) || isSaved(record, field.to)),
  )
  return fitting >= 0 ? fitting : vendorForms.findIndex(isOfVendor)
}

function savedValue(record: CertificateView, to: CredentialField['to']): unknown {
  if (isExtra(to)) return to === 'extra.region' ? record.region : record.extra[extraKey(to)]
  return record[to]
}

const isSaved = (record: CertificateView, to: CredentialField['to']) =>
  ![undefined, null, ''].includes(savedValue(record, to) as string)

function shownValue(record: CertificateView, { to }: CredentialField): string {
  const value = savedValue(record, to)
  if (value === undefined || value === null || isMasked(value)) return ''
  return Array.isArray(value) ? value.join(', ') : String(value)
}

/** The masked value of a field that is saved but not shown; undefined if there is none, or if it is of another kind of credentials. */
export function maskedValue(
  record: CertificateView | undefined,
  draft: CredentialDraft,
  to: CredentialField['to'],
): string | undefined {
  if (!record || formIndexOf(record) !== draft.form) return undefined
  const value = savedValue(record, to)
  return isMasked(value) ? String(value) : undefined
}

export function isUsed(form: VendorForm, draft: CredentialDraft, { to }: CredentialField): boolean {
  return !form.oneNeeded.includes(to) || draft.used.includes(to)
}

/** The record that a new one would replace. */
export function replacedBy(
  draft: CredentialDraft,
  records: readonly CertificateView[],
  editing: CertificateView | undefined,
): CertificateView | undefined {
  // The place of a saved record cannot be changed.
  if (editing) return undefined
  const form = vendorForms[draft.form]!
  const region = form.fields.find(isRegion)
  const place = region ? draft.values[region.to] || String(region.choices?.[0]) : null
  return records.find(
    (record) =>
      record.provider === form.provider &&
      record.environment === draft.environment &&
      record.region === place,
  )
}

/** Whether what the vendor sees changes: settings alone replace no credentials. */
export function changesCredentials(draft: CredentialDraft, record: CertificateView): boolean {
  const before = draftOf(record)
  if (before.form !== draft.form || before.used.join() !== draft.used.join()) return true
  return vendorForms[draft.form]!.fields.some(
    ({ to }) => !isExtra(to) && (draft.values[to]?.trim() ?? '') !== (before.values[to] ?? ''),
  )
}

/** The request that saves the draft. `extraJson` must be valid; fields of the form take precedence over it. */
export function requestOf(draft: CredentialDraft, editing: CertificateView | undefined): NewCertificate {
  const form = vendorForms[draft.form]!
  const record: NewCertificate = {
    provider: form.provider,
    environment: draft.environment,
    name: draft.name.trim(),
  }
  const further = isJsonObject(draft.extraJson) ? draft.extraJson : '{}'
  const extra = fromExactJson(further) as Record<string, unknown>
  const keep: string[] = []
  for (const field of form.fields) {
    const { to } = field
    if (!isUsed(form, draft, field)) continue
    const value = draft.values[to]?.trim() ?? ''
    if (value === '') {
      if (!draft.removed.includes(to) && maskedValue(editing, draft, to) !== undefined) keep.push(to)
    } else if (isExtra(to)) extra[extraKey(to)] = extraValue(field, value)
    else record[to] = value
  }
  // Keys without a field whose values the API does not show.
  const known = new Set<string>(form.fields.map(({ to }) => to))
  for (const [key, value] of Object.entries(editing?.extra ?? {}))
    if (isMasked(value) && !known.has(`extra.${key}`) && !Object.hasOwn(extra, key)) keep.push(`extra.${key}`)
  return {
    ...record,
    ...(Object.keys(extra).length > 0 && { extra }),
    ...(keep.length > 0 && { keep }),
  }
}

function extraValue({ kind, choices }: CredentialField, value: string): unknown {
  switch (kind) {
    case 'flag':
      return value === 'true'
    case 'list':
      return value
        .split(/[,;，；\s]+/)
        .map((item) => item.trim())
        .filter((item) => item !== '')
    case 'choice':
      return choices?.find((choice) => String(choice) === value)
    default:
      return value
  }
}
