//! Functions of QEMU that only some devices need, looked up when one of these is built.

/// A structure of functions, each looked up by its name.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($(#[$what:meta])* fn $name:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }) => {
        $(#[$doc])*
        pub(super) struct $table {
            $($(#[$what])* pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            /// Looks everything up.
            ///
            /// # Errors
            /// The first name that this QEMU does not show.
            pub(super) fn look_up() -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        let place = $crate::qemu::symbols::find(stringify!($name));
                        if place.is_null() {
                            return Err(stringify!($name));
                        }
                        // SAFETY: the address of QEMU's function of that name, whose type is the field's.
                        unsafe {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(place)
                        }
                    },)*
                })
            }
        }
    };
}

pub(super) use functions;
