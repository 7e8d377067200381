const PATHS = {
  plus: 'M12 5v14M5 12h14',
  up: 'M12 19V5m0 0-6 6m6-6 6 6',
  down: 'M12 5v13m0 0-5-5m5 5 5-5M5 21h14',
  close: 'M6 6l12 12M18 6 6 18',
  again: 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6',
  file: 'M13 3H7a1 1 0 0 0-1 1v16a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V8zm0 0v5h5',
  stop: 'M7 7h10v10H7z',
} as const;

/** A sign, for eyes only: what it means is said by the label of its button. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill={name === 'stop' ? 'currentColor' : 'none'}
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
