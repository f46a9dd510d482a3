import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { complaintIn } from '../../i18n/complaints.ts'
import { useLabels } from '../../i18n/labels.ts'
import type { Draft } from './draft.ts'
import type { FieldName } from './fields.ts'
import { platforms } from './platform-fields.ts'
import type { ShownProblem } from './problem-list.tsx'
import { type Problem, type ProblemKind, problemsOf } from './problems.ts'
import { refusalOf } from './refusal.ts'

/** Shown while the field is being filled in; the others when the push is to be sent. */
const shownAtOnce: ReadonlySet<ProblemKind> = new Set([
  'json',
  'audienceTooLong',
  'audienceNumber',
  'beginPast',
  'endPast',
  'endBeforeBegin',
])

/** The problems of the form and the last refusal of the API, which counts until the draft changes. */
export function useProblems(draft: Draft) {
  const { t, i18n } = useTranslation()
  const labelOf = useFieldLabel()
  const { format } = useLabels()
  const [isChecked, setChecked] = useState(false)
  const [refused, setRefused] = useState<{ draft: Draft; error: unknown }>()
  const show = ({ field, kind, values = {} }: Problem): ShownProblem => ({
    field,
    label: labelOf(field),
    // The parts of the sentence differ by kind, which the types of i18next do not follow.
    text: (t as (key: string, values: object) => string)(
      `problem.${kind}`,
      Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          typeof value === 'number' ? format.number(value) : value,
        ]),
      ),
    ),
  })
  const found = problemsOf(draft, Date.now())
  const refusal = refused?.draft === draft ? refusalOf(refused.error, draft) : undefined
  const problems = found.filter(({ kind }) => isChecked || shownAtOnce.has(kind)).map(show)
  if (refusal)
    problems.push({
      field: refusal.field,
      label: labelOf(refusal.field),
      text: complaintIn(i18n.language, refusal.complaint),
    })
  return {
    problems,
    isChecked,
    /** The fields that are wrong, in their order; without one that is not needed, which is then not marked either. */
    check(unneeded?: FieldName): FieldName[] {
      const wrong = found.map(({ field }) => field).filter((field) => field !== unneeded)
      if (unneeded === undefined || wrong.length > 0) setChecked(true)
      return wrong
    },
    refuse: (error: unknown) => setRefused({ draft, error }),
    reset() {
      setChecked(false)
      setRefused(undefined)
    },
  }
}

/** The label of a field as the form shows it. */
export function useFieldLabel(): (field: FieldName) => string {
  const { t } = useTranslation()
  const { platform: platformName, text } = useLabels()
  const labels = {
    title: t('send.messageTitle'),
    body: t('send.body'),
    bigText: t('send.bigText'),
    attachmentUrl: t('send.attachment'),
    badge: t('send.badge'),
    sound: t('send.sound'),
    url: t('send.url'),
    collapseKey: t('send.collapseKey'),
    foreground: t('send.foreground'),
    urgent: t('send.urgent'),
    ext: t('send.ext'),
    type: t('send.type'),
    audience: t('send.audience'),
    strategy: t('send.strategy'),
    sequence: t('send.sequence'),
    beginAt: t('send.beginAt'),
    endAt: t('send.endAt'),
    ttl: t('send.ttl'),
    speed: t('send.speed'),
    priority: t('send.priority'),
    messageClass: t('send.messageClass'),
    campaign: t('tasks.campaign'),
    events: t('send.events'),
    requestId: t('send.requestId'),
  } satisfies Record<Exclude<FieldName, `platforms.${string}`>, string>
  return (field) => {
    if (field in labels) return labels[field as keyof typeof labels]
    const [, name, ...rest] = field.split('.')
    const platform = platforms.find((known) => known.name === name)
    const found = platform?.fields.find((known) => known.name === rest.join('.'))
    if (!platform || !found) return field
    const owner = platform.vendor ? text(platform.vendor) : platformName(platform.name)
    return `${owner}${t('app.colon')}${text(found.label)}`
  }
}
