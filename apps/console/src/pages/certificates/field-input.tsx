import type { CredentialField } from '@herald/channels/cards'
import { Checkbox, PasswordInput, Textarea, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { ChoiceInput } from '../../components/choice-input.tsx'
import { choiceLabel, offeredChoices } from '../../i18n/choice-labels.ts'
import { complaintIn } from '../../i18n/complaints.ts'
import { useLabels } from '../../i18n/labels.ts'
import { FilePicker } from './file-picker.tsx'
import { isInFront, isRequired } from './vendor-forms.ts'

type Props = {
  field: CredentialField
  value: string
  /** The masked value of a saved field, which an empty input keeps. */
  saved: string | undefined
  /** One of several fields of which one is needed. */
  needed: boolean
  removed: boolean
  /** Why Herald refuses the value, in English. */
  complaint: string | undefined
  onChange(value: string): void
  onRemove(remove: boolean): void
}

export function FieldInput({ field, value, saved, needed, removed, complaint, onChange, onRemove }: Props) {
  const { t } = useTranslation()
  const { text } = useLabels()
  const name = text(field.label)
  const required = needed || isRequired(field)
  const label = !required && isInFront(field) ? t('certificateField.optional', { name }) : name
  const shared = {
    label,
    value,
    error: complaint && <Complaint sentence={complaint} />,
    required: required && saved === undefined,
    withAsterisk: false,
    spellCheck: false,
    disabled: removed,
    ...(saved !== undefined && {
      placeholder: saved,
      description: t('certificateField.saved'),
    }),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  }
  const remove = saved !== undefined && !required && (
    <Checkbox
      size="xs"
      checked={removed}
      label={t('certificateField.remove', { name })}
      onChange={({ currentTarget }) => onRemove(currentTarget.checked)}
    />
  )
  switch (field.kind) {
    case 'file':
      return (
        <>
          {field.file && <FilePicker name={name} file={field.file} onRead={onChange} />}
          <Textarea {...shared} autosize minRows={3} maxRows={8} classNames={{ input: 'code' }} />
          {remove}
        </>
      )
    case 'flag':
      return <ChoiceInput label={label} value={value} error={shared.error} onChange={onChange} />
    case 'choice':
      return (
        <ChoiceInput
          label={label}
          value={value}
          options={offeredChoices(field.choices ?? [], field.choiceTexts)}
          optionText={(choice) => choiceLabel(choice, field.choiceTexts, text)}
          error={shared.error}
          onChange={onChange}
        />
      )
    default:
      return (
        <div>
          {field.secret ? (
            <PasswordInput
              {...shared}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ 'aria-hidden': true }}
            />
          ) : (
            <TextInput {...shared} />
          )}
          {remove}
        </div>
      )
  }
}

/** Without the name of the field, to which it belongs. English if it has no translation. */
function Complaint({ sentence }: { sentence: string }) {
  const { t, i18n } = useTranslation()
  if (i18n.language !== 'zh')
    return (
      <span lang="en" data-from="api">
        {sentence}
      </span>
    )
  const complaint = sentence.replace(/^[\w.]+ /, '').replace(/\.$/, '')
  const translated = complaintIn('zh', complaint)
  if (translated !== complaint) return translated
  return (
    <>
      {t('certificateField.invalid')}{' '}
      <span lang="en" data-from="api">
        {sentence}
      </span>
    </>
  )
}
